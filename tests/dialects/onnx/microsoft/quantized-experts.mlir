// Weights of experts become numbers block by block, or row by row.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 3072 : i64, name = "s2", offset = 0 : i64} : () -> tensor<8x96xf32>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 2048 : i64, name = "s1", offset = 0 : i64} : () -> tensor<8x64xf32>
// CHECK-NEXT: %[[WEIGHT3:.*]] = onnx.Weight {file = "m.onnx", length = 24576 : i64, name = "w1", offset = 0 : i64} : () -> tensor<8x64x96xui4>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[WEIGHT2]] : {{.*}} -> tensor<8x64x1xf32>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<8> : tensor<1x1x1xui4>} : () -> tensor<1x1x1xui4>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[WEIGHT3]], %[[RESHAPE]], %[[CONSTANT]] {axis = 2 : i64} : {{.*}} -> tensor<8x64x96xf32>
// CHECK-NEXT: %[[UP:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR]] {perm = array<i64: 0, 2, 1>}
// CHECK-NEXT: %[[WEIGHT4:.*]] = onnx.Weight {file = "m.onnx", length = 24576 : i64, name = "w2", offset = 0 : i64} : () -> tensor<8x96x64xui4>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[WEIGHT]] : {{.*}} -> tensor<8x96x1xf32>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<8> : tensor<1x1x1xui4>} : () -> tensor<1x1x1xui4>
// CHECK-NEXT: %[[DEQUANTIZELINEAR2:.*]] = onnx.DequantizeLinear %[[WEIGHT4]], %[[RESHAPE2]], %[[CONSTANT2]] {axis = 2 : i64} : {{.*}} -> tensor<8x96x64xf32>
// CHECK-NEXT: %[[DOWN:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR2]] {perm = array<i64: 0, 2, 1>}
// CHECK: %values, %indices = onnx.TopK %arg1 {axis = 1 : i64}
// CHECK: %[[SHARES:.*]] = onnx.GatherElements
// CHECK-NEXT: %[[MIXED:.*]] = onnx.MixtureOfExperts %arg0, %indices, %[[SHARES]], %[[UP]], %[[DOWN]] {activation = "relu"}
// CHECK-NEXT: return %[[MIXED]]
func.func @rows(%x: tensor<?x96xf32, #dist.value<dims = [t, 96]>>, %r: tensor<?x8xf32, #dist.value<dims = [t, 8]>>) -> (!u) {
  %s2 = onnx.Weight {name = "s2", file = "m.onnx", offset = 0 : i64, length = 3072 : i64} : () -> tensor<8x96xf32>
  %w2 = onnx.Weight {name = "w2", file = "m.onnx", offset = 0 : i64, length = 24576 : i64} : () -> tensor<8x96x32xui8>
  %s1 = onnx.Weight {name = "s1", file = "m.onnx", offset = 0 : i64, length = 2048 : i64} : () -> tensor<8x64xf32>
  %w1 = onnx.Weight {name = "w1", file = "m.onnx", offset = 0 : i64, length = 24576 : i64} : () -> tensor<8x64x48xui8>
  %none = onnx.None : () -> none
  %y = onnx.microsoft.QMoE %x, %r, %w1, %s1, %none, %w2, %s2 {activation_type = "relu"} : (tensor<?x96xf32, #dist.value<dims = [t, 96]>>, tensor<?x8xf32, #dist.value<dims = [t, 8]>>, tensor<8x64x48xui8>, tensor<8x64xf32>, none, tensor<8x96x32xui8>, tensor<8x96xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @blocks(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "m.onnx", length = 1536 : i64, name = "z1", offset = 0 : i64} : () -> tensor<8x64x3xui8>
// CHECK-NEXT: %[[WEIGHT2:.*]] = onnx.Weight {file = "m.onnx", length = 6144 : i64, name = "s2", offset = 0 : i64} : () -> tensor<8x96x2xf32>
// CHECK-NEXT: %[[WEIGHT3:.*]] = onnx.Weight {file = "m.onnx", length = 49152 : i64, name = "w2", offset = 0 : i64} : () -> tensor<8x96x64xui8>
// CHECK-NEXT: %[[WEIGHT4:.*]] = onnx.Weight {file = "m.onnx", length = 6144 : i64, name = "s1", offset = 0 : i64} : () -> tensor<8x64x3xf32>
// CHECK-NEXT: %[[WEIGHT5:.*]] = onnx.Weight {file = "m.onnx", length = 49152 : i64, name = "w1", offset = 0 : i64} : () -> tensor<8x64x96xui8>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %[[WEIGHT5]], %[[WEIGHT4]], %[[WEIGHT]] {axis = 2 : i64, block_size = 32 : i64} : {{.*}} -> tensor<8x64x96xf32>
// CHECK-NEXT: %[[UP:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR]] {perm = array<i64: 0, 2, 1>}
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<128> : tensor<1x1x1xui8>} : () -> tensor<1x1x1xui8>
// CHECK-NEXT: %[[DEQUANTIZELINEAR2:.*]] = onnx.DequantizeLinear %[[WEIGHT3]], %[[WEIGHT2]], %[[CONSTANT]] {axis = 2 : i64, block_size = 32 : i64} : {{.*}} -> tensor<8x96x64xf32>
// CHECK-NEXT: %[[DOWN:.*]] = onnx.Transpose %[[DEQUANTIZELINEAR2]] {perm = array<i64: 0, 2, 1>}
// CHECK: %values, %indices = onnx.TopK %arg1 {axis = 1 : i64}
// CHECK-NEXT: %[[PICKED:.*]] = onnx.GatherElements %arg2, %indices {axis = 1 : i64}
// CHECK-NEXT: %[[SUM:.*]] = onnx.ReduceSum %[[PICKED]] {axes = array<i64: 1>
// CHECK-NEXT: %[[SHARES:.*]] = onnx.Div %[[PICKED]], %[[SUM]]
// CHECK-NEXT: %[[MIXED:.*]] = onnx.MixtureOfExperts %arg0, %indices, %[[SHARES]], %[[UP]], %[[DOWN]] {activation = "identity"}
// CHECK-NEXT: return %[[MIXED]]
func.func @blocks(%x: tensor<?x96xf32, #dist.value<dims = [t, 96]>>, %r: tensor<?x8xf32, #dist.value<dims = [t, 8]>>, %m: tensor<?x8xf32, #dist.value<dims = [t, 8]>>) -> (!u) {
  %z1 = onnx.Weight {name = "z1", file = "m.onnx", offset = 0 : i64, length = 1536 : i64} : () -> tensor<8x64x3xui8>
  %s2 = onnx.Weight {name = "s2", file = "m.onnx", offset = 0 : i64, length = 6144 : i64} : () -> tensor<8x96x2xf32>
  %w2 = onnx.Weight {name = "w2", file = "m.onnx", offset = 0 : i64, length = 49152 : i64} : () -> tensor<8x96x64xui8>
  %s1 = onnx.Weight {name = "s1", file = "m.onnx", offset = 0 : i64, length = 6144 : i64} : () -> tensor<8x64x3xf32>
  %w1 = onnx.Weight {name = "w1", file = "m.onnx", offset = 0 : i64, length = 49152 : i64} : () -> tensor<8x64x96xui8>
  %none = onnx.None : () -> none
  %y = onnx.microsoft.QMoE %x, %r, %w1, %s1, %none, %w2, %s2, %none, %none, %none, %none, %z1, %none, %none, %m {activation_type = "identity", block_size = 32 : i64, expert_weight_bits = 8 : i64, normalize_routing_weights = 1 : i64} : (tensor<?x96xf32, #dist.value<dims = [t, 96]>>, tensor<?x8xf32, #dist.value<dims = [t, 8]>>, tensor<8x64x96xui8>, tensor<8x64x3xf32>, none, tensor<8x96x64xui8>, tensor<8x96x2xf32>, none, none, none, none, tensor<8x64x3xui8>, none, none, tensor<?x8xf32, #dist.value<dims = [t, 8]>>) -> !u
  return %y : !u
}
