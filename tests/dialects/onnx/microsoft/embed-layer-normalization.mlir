// Rows of three tables; lengths by the ones of the mask.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @all(
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg3, %[[RANGE]] : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [s, 96]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %arg2, %arg0 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[GATHER2]], %[[GATHER]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[GATHER3:.*]] = onnx.Gather %arg4, %arg1 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[ADD]], %[[GATHER3]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[LAYERNORMALIZATION:.*]] = onnx.LayerNormalization %[[ADD2]], %arg5, %arg6 {axis = 2 : i64, epsilon = 9.99999996E-13 : f32} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %[[EQUAL:.*]] = onnx.Equal %arg7, %[[CONSTANT]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %[[EQUAL]] : {{.*}} -> tensor<?x?xi32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[REDUCESUM:.*]] = onnx.ReduceSum %[[CAST]] {axes = array<i64: 1>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?xi32, #dist.value<dims = [b]>>
// CHECK-NEXT: return %[[LAYERNORMALIZATION]], %[[REDUCESUM]]
func.func @all(%ids: tensor<?x?xi32, #dist.value<dims = [b, s]>>, %segments: tensor<?x?xi32, #dist.value<dims = [b, s]>>, %w: tensor<1024x96xf32>, %p: tensor<128x96xf32>, %t: tensor<2x96xf32>, %gamma: tensor<96xf32>, %beta: tensor<96xf32>, %mask: tensor<?x?xi32, #dist.value<dims = [b, s]>>) -> (!u, !u) {
  %y, %n = onnx.microsoft.EmbedLayerNormalization %ids, %segments, %w, %p, %t, %gamma, %beta, %mask : (tensor<?x?xi32, #dist.value<dims = [b, s]>>, tensor<?x?xi32, #dist.value<dims = [b, s]>>, tensor<1024x96xf32>, tensor<128x96xf32>, tensor<2x96xf32>, tensor<96xf32>, tensor<96xf32>, tensor<?x?xi32, #dist.value<dims = [b, s]>>) -> (!u, !u)
  return %y, %n : !u, !u
}

// CHECK-LABEL: func.func @no_segments(
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg2, %arg5 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %arg1, %arg0 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[GATHER2]], %[[GATHER]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[LAYERNORMALIZATION:.*]] = onnx.LayerNormalization %[[ADD]], %arg3, %arg4 {axis = 2 : i64, epsilon = 9.99999996E-13 : f32} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %[[CONSTANT]] : {{.*}} -> tensor<?xi32, #dist.value<dims = [b]>>
// CHECK-NEXT: return %[[LAYERNORMALIZATION]], %[[EXPAND]], %[[ADD]]
func.func @no_segments(%ids: tensor<?x?xi32, #dist.value<dims = [b, s]>>, %w: tensor<1024x96xf32>, %p: tensor<128x96xf32>, %gamma: tensor<96xf32>, %beta: tensor<96xf32>, %at: tensor<?x?xi32, #dist.value<dims = [b, s]>>) -> (!u, !u, !u) {
  %none = onnx.None : () -> none
  %y, %n, %sum = onnx.microsoft.EmbedLayerNormalization %ids, %none, %w, %p, %none, %gamma, %beta, %none, %at : (tensor<?x?xi32, #dist.value<dims = [b, s]>>, none, tensor<1024x96xf32>, tensor<128x96xf32>, none, tensor<96xf32>, tensor<96xf32>, none, tensor<?x?xi32, #dist.value<dims = [b, s]>>) -> (!u, !u, !u)
  return %y, %n, %sum : !u, !u, !u
}
