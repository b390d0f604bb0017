// Rows are chosen first, then made numbers.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @halves(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 12288 : i64, name = "scales", offset = 0 : i64} : () -> tensor<1024x3xf32>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 49152 : i64, name = "w", offset = 0 : i64} : () -> tensor<1024x96xui4>
// CHECK-NEXT: %[[WEIGHT3:.*]] = onnx.Weight {file = "m.onnx", length = 2048 : i64, name = "zeros", offset = 0 : i64} : () -> tensor<1024x4xui4>
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %[[WEIGHT3]] {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<1024x3xui4>
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %[[WEIGHT2]], %arg0 : {{.*}} -> tensor<?x?x96xui4, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %[[WEIGHT]], %arg0 : {{.*}} -> tensor<?x?x3xf32, #dist.value<dims = [b, s, 3]>>
// CHECK-NEXT: %[[GATHER3:.*]] = onnx.Gather %[[SLICE]], %arg0 : {{.*}} -> tensor<?x?x3xui4, #dist.value<dims = [b, s, 3]>>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[GATHER]], %[[GATHER2]], %[[GATHER3]] {axis = 2 : i64, block_size = 32 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[DEQUANTIZELINEAR]]
func.func @halves(%at: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %zeros = onnx.Weight {name = "zeros", file = "m.onnx", offset = 0 : i64, length = 2048 : i64} : () -> tensor<1024x2xui8>
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 12288 : i64} : () -> tensor<1024x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 49152 : i64} : () -> tensor<1024x48xui8>
  %y = onnx.microsoft.GatherBlockQuantized %w, %at, %scales, %zeros {block_size = 32 : i64, quantize_axis = 1 : i64} : (tensor<1024x48xui8>, tensor<?x?xi64, #dist.value<dims = [b, s]>>, tensor<1024x3xf32>, tensor<1024x2xui8>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @bytes(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 6144 : i64, name = "scales", offset = 0 : i64} : () -> tensor<1024x3xf16>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 98304 : i64, name = "w", offset = 0 : i64} : () -> tensor<1024x96xui8>
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %[[WEIGHT2]], %arg0 : {{.*}} -> tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %[[WEIGHT]], %arg0 : {{.*}} -> tensor<?x?x3xf16, #dist.value<dims = [b, s, 3]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<128> : tensor<1x1x1xui8>} : () -> tensor<1x1x1xui8>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[GATHER]], %[[GATHER2]], %[[CONSTANT]] {axis = 2 : i64, block_size = 32 : i64} : {{.*}} -> tensor<?x?x96xf16, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[DEQUANTIZELINEAR]]
func.func @bytes(%at: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 6144 : i64} : () -> tensor<1024x3xf16>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 98304 : i64} : () -> tensor<1024x96xui8>
  %y = onnx.microsoft.GatherBlockQuantized %w, %at, %scales {bits = 8 : i64, block_size = 32 : i64, quantize_axis = -1 : i64} : (tensor<1024x96xui8>, tensor<?x?xi64, #dist.value<dims = [b, s]>>, tensor<1024x3xf16>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @typed(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 12288 : i64, name = "scales", offset = 0 : i64} : () -> tensor<1024x3xf32>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 49152 : i64, name = "w", offset = 0 : i64} : () -> tensor<1024x96xi4>
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %[[WEIGHT2]], %arg0 : {{.*}} -> tensor<?x?x96xi4, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %[[WEIGHT]], %arg0 : {{.*}} -> tensor<?x?x3xf32, #dist.value<dims = [b, s, 3]>>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[GATHER]], %[[GATHER2]] {axis = 2 : i64, block_size = 32 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[DEQUANTIZELINEAR]]
func.func @typed(%at: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 12288 : i64} : () -> tensor<1024x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 49152 : i64} : () -> tensor<1024x96xi4>
  %y = onnx.microsoft.GatherBlockQuantized %w, %at, %scales {block_size = 32 : i64, quantize_axis = 1 : i64} : (tensor<1024x96xi4>, tensor<?x?xi64, #dist.value<dims = [b, s]>>, tensor<1024x3xf32>) -> !u
  return %y : !u
}

// The table is an LM head's, [rows, blocks, bytes of a block].
// CHECK-LABEL: func.func @tied(
// CHECK: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 49152 : i64, name = "w", offset = 0 : i64} : () -> tensor<1024x96xui4>
// CHECK: onnx.Gather %[[WEIGHT]], %arg0 : {{.*}} -> tensor<?x?x96xui4, #dist.value<dims = [b, s, 96]>>
func.func @tied(%at: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 12288 : i64} : () -> tensor<1024x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 49152 : i64} : () -> tensor<1024x3x16xui8>
  %shape = onnx.Constant {value = dense<[1024, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %rows = onnx.Reshape %w, %shape : (tensor<1024x3x16xui8>, tensor<2xi64>) -> !u
  %y = onnx.microsoft.GatherBlockQuantized %rows, %at, %scales {block_size = 32 : i64, quantize_axis = 1 : i64} : (!u, tensor<?x?xi64, #dist.value<dims = [b, s]>>, tensor<1024x3xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @quarters(
// CHECK: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 24576 : i64, name = "w", offset = 0 : i64} : () -> tensor<1024x96xui2>
// CHECK: %[[ROWS:.*]] = onnx.Gather %[[WEIGHT]], %arg0 : {{.*}} -> tensor<?x?x96xui2, #dist.value<dims = [b, s, 96]>>
// CHECK: onnx.Constant {value = dense<2> : tensor<1x1x1xui2>}
func.func @quarters(%at: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 12288 : i64} : () -> tensor<1024x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 24576 : i64} : () -> tensor<1024x24xui8>
  %y = onnx.microsoft.GatherBlockQuantized %w, %at, %scales {bits = 2 : i64, block_size = 32 : i64, quantize_axis = 1 : i64} : (tensor<1024x24xui8>, tensor<?x?xi64, #dist.value<dims = [b, s]>>, tensor<1024x3xf32>) -> !u
  return %y : !u
}
