// Experts by the k best of a router become the op that recovery makes.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// Biases of the second product are weighted apart.
// CHECK-LABEL: func.func @fused_pairs(
// CHECK-DAG: %[[UP:.*]] = onnx.Transpose %arg2 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<8x96x128xf32>
// CHECK-DAG: %[[DOWN:.*]] = onnx.Transpose %arg4 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<8x64x96xf32>
// CHECK: %values, %indices = onnx.TopK %arg1 {axis = 1 : i64} {{.*}} -> (tensor<?x2xf32, #dist.value<dims = [b * s, 2]>>, tensor<?x2xi64
// CHECK-NEXT: %[[SHARES:.*]] = onnx.Softmax %values {axis = 1 : i64}
// CHECK-NEXT: %[[TOKENS:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [b * s, 96]>>
// CHECK-NEXT: %[[MIXED:.*]] = onnx.MixtureOfExperts %[[TOKENS]], %indices, %[[SHARES]], %[[UP]], %[[DOWN]], %arg3 {alpha = 1.702000e+00 : f32, gate = "interleaved", limit = 7.000000e+00 : f32, shift = 1.000000e+00 : f32}
// CHECK-NEXT: %[[ROWS:.*]] = onnx.Gather %arg5, %indices : {{.*}} -> tensor<?x2x96xf32, #dist.value<dims = [b * s, 2, 96]>>
// CHECK-NEXT: %[[COLUMN:.*]] = onnx.Reshape %[[SHARES]] : {{.*}} -> tensor<?x2x1xf32
// CHECK-NEXT: %[[WEIGHTED:.*]] = onnx.Mul %[[ROWS]], %[[COLUMN]]
// CHECK-NEXT: %[[BIAS:.*]] = onnx.ReduceSum %[[WEIGHTED]] {axes = array<i64: 1>, keepdims = 0 : i64
// CHECK-NEXT: %[[SUM:.*]] = onnx.Add %[[MIXED]], %[[BIAS]]
// CHECK-NEXT: %[[RESULT:.*]] = onnx.Reshape %[[SUM]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESULT]]
func.func @fused_pairs(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %r: tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>, %w1: tensor<8x128x96xf32>, %c1: tensor<8x128xf32>, %w2: tensor<8x96x64xf32>, %c2: tensor<8x96xf32>) -> (!u) {
  %y = onnx.microsoft.MoE %x, %r, %w1, %c1, %w2, %c2 {activation_alpha = 1.702 : f32, activation_beta = 1.0 : f32, activation_type = "swiglu", k = 2 : i64, normalize_routing_weights = 1 : i64, swiglu_fusion = 1 : i64, swiglu_limit = 7.0 : f32} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>, tensor<8x128x96xf32>, tensor<8x128xf32>, tensor<8x96x64xf32>, tensor<8x96xf32>) -> !u
  return %y : !u
}

// Not normalised, the choices weigh what they do among all.
// CHECK-LABEL: func.func @gate_apart(
// CHECK-DAG: %[[GATE:.*]] = onnx.Transpose %arg2 {perm = array<i64: 0, 2, 1>}
// CHECK-DAG: %[[DOWN:.*]] = onnx.Transpose %arg3 {perm = array<i64: 0, 2, 1>}
// CHECK-DAG: %[[LINEAR:.*]] = onnx.Transpose %arg4 {perm = array<i64: 0, 2, 1>}
// CHECK: %values, %indices = onnx.TopK %arg1 {axis = 1 : i64}
// CHECK-NEXT: %[[ALL:.*]] = onnx.Softmax %arg1 {axis = 1 : i64}
// CHECK-NEXT: %[[SHARES:.*]] = onnx.GatherElements %[[ALL]], %indices {axis = 1 : i64}
// CHECK-NEXT: %[[UP:.*]] = onnx.Concat %[[GATE]], %[[LINEAR]] {axis = 2 : i64} : {{.*}} -> tensor<8x96x128xf32>
// CHECK-NEXT: %[[MIXED:.*]] = onnx.MixtureOfExperts %arg0, %indices, %[[SHARES]], %[[UP]], %[[DOWN]] {gate = "halves"}
// CHECK-NEXT: return %[[MIXED]]
func.func @gate_apart(%x: tensor<?x96xf32, #dist.value<dims = [t, 96]>>, %r: tensor<?x8xf32, #dist.value<dims = [t, 8]>>, %w1: tensor<8x64x96xf32>, %w2: tensor<8x96x64xf32>, %w3: tensor<8x64x96xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.MoE %x, %r, %w1, %none, %w2, %none, %w3 {activation_type = "silu", k = 2 : i64} : (tensor<?x96xf32, #dist.value<dims = [t, 96]>>, tensor<?x8xf32, #dist.value<dims = [t, 8]>>, tensor<8x64x96xf32>, none, tensor<8x96x64xf32>, none, tensor<8x64x96xf32>) -> !u
  return %y : !u
}
