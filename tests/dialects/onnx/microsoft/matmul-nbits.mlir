// The bytes of the weights are the same, read as numbers of 4 bits.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @halves(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 768 : i64, name = "scales", offset = 0 : i64} : () -> tensor<64x3xf32>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 3072 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x96xui4>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<8> : tensor<1x1xui4>} : () -> tensor<1x1xui4>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[WEIGHT2]], %[[WEIGHT]], %[[CONSTANT]] {block_size = 32 : i64} : {{.*}} -> tensor<64x96xf32>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR]] {perm = array<i64: 1, 0>} : {{.*}} -> tensor<96x64xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %[[TRANSPOSE]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[MATMUL]]
func.func @halves(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 3072 : i64} : () -> tensor<64x3x16xui8>
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales {K = 96 : i64, N = 64 : i64, block_size = 32 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<64x3x16xui8>, tensor<64x3xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @zero_points_and_bias(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "c", offset = 0 : i64} : () -> tensor<64xf16>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 384 : i64, name = "scales", offset = 0 : i64} : () -> tensor<192xf16>
// CHECK-NEXT: %[[WEIGHT3:.*]] = onnx.Weight {file = "m.onnx", length = 3072 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x96xui4>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[WEIGHT2]] : {{.*}} -> tensor<64x3xf16>
// CHECK-NEXT: %[[WEIGHT4:.*]] = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "zeros", offset = 0 : i64} : () -> tensor<64x4xui4>
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %[[WEIGHT4]] {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<64x3xui4>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[WEIGHT3]], %[[RESHAPE]], %[[SLICE]] {block_size = 32 : i64} : {{.*}} -> tensor<64x96xf16>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR]] {perm = array<i64: 1, 0>} : {{.*}} -> tensor<96x64xf16>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %[[TRANSPOSE]] : {{.*}} -> tensor<?x?x64xf16, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[MATMUL]], %[[WEIGHT]] : {{.*}} -> tensor<?x?x64xf16, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[ADD]]
func.func @zero_points_and_bias(%x: tensor<?x?x96xf16, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %c = onnx.Weight {name = "c", file = "m.onnx", offset = 0 : i64, length = 128 : i64} : () -> tensor<64xf16>
  %zeros = onnx.Weight {name = "zeros", file = "m.onnx", offset = 0 : i64, length = 128 : i64} : () -> tensor<128xui8>
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 384 : i64} : () -> tensor<192xf16>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 3072 : i64} : () -> tensor<64x3x16xui8>
  %none = onnx.None : () -> none
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales, %zeros, %none, %c {K = 96 : i64, N = 64 : i64, block_size = 32 : i64} : (tensor<?x?x96xf16, #dist.value<dims = [b, s, 96]>>, tensor<64x3x16xui8>, tensor<192xf16>, tensor<128xui8>, none, tensor<64xf16>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @numbers_as_zero_points(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 768 : i64, name = "zeros", offset = 0 : i64} : () -> tensor<64x3xf32>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 768 : i64, name = "scales", offset = 0 : i64} : () -> tensor<64x3xf32>
// CHECK-NEXT: %[[WEIGHT3:.*]] = onnx.Weight {file = "m.onnx", length = 3072 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x96xui4>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[WEIGHT3]], %[[WEIGHT2]], %[[WEIGHT]] {block_size = 32 : i64} : {{.*}} -> tensor<64x96xf32>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR]] {perm = array<i64: 1, 0>} : {{.*}} -> tensor<96x64xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %[[TRANSPOSE]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[MATMUL]]
func.func @numbers_as_zero_points(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %zeros = onnx.Weight {name = "zeros", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 3072 : i64} : () -> tensor<64x3x16xui8>
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales, %zeros {K = 96 : i64, N = 64 : i64, block_size = 32 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<64x3x16xui8>, tensor<64x3xf32>, tensor<64x3xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @last_block_is_cut(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 768 : i64, name = "scales", offset = 0 : i64} : () -> tensor<64x3xf32>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 3072 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x96xui4>
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %[[WEIGHT2]] {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<64x80xui4>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<8> : tensor<1x1xui4>} : () -> tensor<1x1xui4>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[SLICE]], %[[WEIGHT]], %[[CONSTANT]] {block_size = 32 : i64} : {{.*}} -> tensor<64x80xf32>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR]] {perm = array<i64: 1, 0>} : {{.*}} -> tensor<80x64xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %[[TRANSPOSE]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[MATMUL]]
func.func @last_block_is_cut(%x: tensor<?x?x80xf32, #dist.value<dims = [b, s, 80]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 3072 : i64} : () -> tensor<64x3x16xui8>
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales {K = 80 : i64, N = 64 : i64, block_size = 32 : i64} : (tensor<?x?x80xf32, #dist.value<dims = [b, s, 80]>>, tensor<64x3x16xui8>, tensor<64x3xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @bytes(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 768 : i64, name = "scales", offset = 0 : i64} : () -> tensor<64x3xf32>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 6144 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x3x32xui8>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[WEIGHT2]] : {{.*}} -> tensor<64x96xui8>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<128> : tensor<1x1xui8>} : () -> tensor<1x1xui8>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[RESHAPE]], %[[WEIGHT]], %[[CONSTANT]] {block_size = 32 : i64} : {{.*}} -> tensor<64x96xf32>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR]] {perm = array<i64: 1, 0>} : {{.*}} -> tensor<96x64xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %[[TRANSPOSE]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[MATMUL]]
func.func @bytes(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 6144 : i64} : () -> tensor<64x3x32xui8>
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales {K = 96 : i64, N = 64 : i64, block_size = 32 : i64, bits = 8 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<64x3x32xui8>, tensor<64x3xf32>) -> !u
  return %y : !u
}

// Those of level 4 may be multiplied with activations of 8 bits.
// CHECK-LABEL: func.func @rounded_activations(
// CHECK: onnx.DequantizeLinear {{.*}} {activation_bits = 8 : i64, block_size = 32 : i64}
func.func @rounded_activations(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 3072 : i64} : () -> tensor<64x3x16xui8>
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales {K = 96 : i64, N = 64 : i64, accuracy_level = 4 : i64, block_size = 32 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<64x3x16xui8>, tensor<64x3xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @other_levels(
// CHECK-NOT: activation_bits
func.func @other_levels(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 3072 : i64} : () -> tensor<64x3x16xui8>
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales {K = 96 : i64, N = 64 : i64, accuracy_level = 2 : i64, block_size = 32 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<64x3x16xui8>, tensor<64x3xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @quarters(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 768 : i64, name = "scales", offset = 0 : i64} : () -> tensor<64x3xf32>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 1536 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x96xui2>
// CHECK-NEXT: %[[WEIGHT3:.*]] = onnx.Weight {file = "m.onnx", length = 64 : i64, name = "zeros", offset = 0 : i64} : () -> tensor<64x4xui2>
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %[[WEIGHT3]] {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<64x3xui2>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[WEIGHT2]], %[[WEIGHT]], %[[SLICE]] {block_size = 32 : i64} : {{.*}} -> tensor<64x96xf32>
func.func @quarters(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %zeros = onnx.Weight {name = "zeros", file = "m.onnx", offset = 0 : i64, length = 64 : i64} : () -> tensor<64xui8>
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 1536 : i64} : () -> tensor<64x3x8xui8>
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales, %zeros {K = 96 : i64, N = 64 : i64, block_size = 32 : i64, bits = 2 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<64x3x8xui8>, tensor<64x3xf32>, tensor<64xui8>) -> !u
  return %y : !u
}

// Half of what two bits count to, where there are no zero points.
// CHECK-LABEL: func.func @symmetric_quarters(
// CHECK: onnx.Constant {value = dense<2> : tensor<1x1xui2>}
func.func @symmetric_quarters(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %scales = onnx.Weight {name = "scales", file = "m.onnx", offset = 0 : i64, length = 768 : i64} : () -> tensor<64x3xf32>
  %w = onnx.Weight {name = "w", file = "m.onnx", offset = 0 : i64, length = 1536 : i64} : () -> tensor<64x3x8xui8>
  %y = onnx.microsoft.MatMulNBits %x, %w, %scales {K = 96 : i64, N = 64 : i64, block_size = 32 : i64, bits = 2 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<64x3x8xui8>, tensor<64x3xf32>) -> !u
  return %y : !u
}
