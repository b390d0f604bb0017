// The sum is a result too, for the next layer.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @layer_norm(
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %arg1 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[ADD]], %arg4 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[LAYERNORMALIZATION:.*]] = onnx.LayerNormalization %[[ADD2]], %arg2, %arg3 {axis = 2 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[LAYERNORMALIZATION]], %[[ADD2]]
func.func @layer_norm(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %skip: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %gamma: tensor<96xf32>, %beta: tensor<96xf32>, %bias: tensor<96xf32>) -> (!u, !u) {
  %y, %m, %d, %sum = onnx.microsoft.SkipLayerNormalization %x, %skip, %gamma, %beta, %bias {epsilon = 1.0e-5 : f32} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96xf32>, tensor<96xf32>, tensor<96xf32>) -> (!u, !u, !u, !u)
  return %y, %sum : !u, !u
}

// CHECK-LABEL: func.func @rms_norm(
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %arg1 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[RMSNORMALIZATION:.*]] = onnx.RMSNormalization %[[ADD]], %arg2 {axis = 2 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RMSNORMALIZATION]]
func.func @rms_norm(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %skip: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %gamma: tensor<96xf32>) -> (!u) {
  %y = onnx.microsoft.SkipSimplifiedLayerNormalization %x, %skip, %gamma {epsilon = 1.0e-5 : f32} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @one_skip_for_all(
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %arg1 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[LAYERNORMALIZATION:.*]] = onnx.LayerNormalization %[[ADD]], %arg2 {axis = 2 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[LAYERNORMALIZATION]]
func.func @one_skip_for_all(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %skip: tensor<?x96xf32, #dist.value<dims = [s, 96]>>, %gamma: tensor<96xf32>) -> (!u) {
  %y = onnx.microsoft.SkipLayerNormalization %x, %skip, %gamma {epsilon = 1.0e-5 : f32} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x96xf32, #dist.value<dims = [s, 96]>>, tensor<96xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @simplified(
// CHECK-NEXT: %[[RMSNORMALIZATION:.*]] = onnx.RMSNormalization %arg0, %arg1 {axis = 2 : i64, epsilon = 9.99999997E-7 : f32} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RMSNORMALIZATION]]
func.func @simplified(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %gamma: tensor<96xf32>) -> (!u) {
  %y = onnx.SimplifiedLayerNormalization %x, %gamma {epsilon = 1.0e-6 : f32} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96xf32>) -> !u
  return %y : !u
}
