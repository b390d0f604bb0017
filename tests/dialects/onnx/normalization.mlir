// Axes are not negative; LayerNormalization's statistics.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %[[SOFTMAX:.*]] = onnx.Softmax %arg0 {axis = 3 : i64} : {{.*}} -> tensor<?x6x?x?xf32, #dist.value<dims = [b, 6, s, s]>>
// CHECK-NEXT: %[[LOGSOFTMAX:.*]] = onnx.LogSoftmax %[[SOFTMAX]] {axis = 1 : i64} : {{.*}} -> tensor<?x6x?x?xf32, #dist.value<dims = [b, 6, s, s]>>
// CHECK-NEXT: return %[[LOGSOFTMAX]]
func.func @softmax(%x: tensor<?x6x?x?xf32, #dist.value<dims = [b, 6, s, s]>>) -> (!u) {
  %a = onnx.Softmax %x : (tensor<?x6x?x?xf32, #dist.value<dims = [b, 6, s, s]>>) -> !u
  %b = onnx.LogSoftmax %a {axis = 1 : i64} : (!u) -> !u
  return %b : !u
}

// CHECK-LABEL: func.func @layer_norm(
// CHECK-NEXT: %[[LAYERNORMALIZATION:.*]]:3 = onnx.LayerNormalization %arg0, %arg1, %arg2 {axis = 2 : i64} : {{.*}} -> (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x1xf32, #dist.value<dims = [b, s, 1]>>, tensor<?x?x1xf32, #dist.value<dims = [b, s, 1]>>)
// CHECK-NEXT: return %[[LAYERNORMALIZATION]]#0, %[[LAYERNORMALIZATION]]#1, %[[LAYERNORMALIZATION]]#2
func.func @layer_norm(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96xf32>, %c: tensor<96xf32>) -> (!u, !u, !u) {
  %y, %m, %d = onnx.LayerNormalization %x, %w, %c : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96xf32>, tensor<96xf32>) -> (!u, !u, !u)
  return %y, %m, %d : !u, !u, !u
}

// CHECK-LABEL: func.func @no_bias(
// CHECK-NEXT: %[[LAYERNORMALIZATION:.*]] = onnx.LayerNormalization %arg0, %arg1 {axis = 2 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[LAYERNORMALIZATION]]
func.func @no_bias(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.LayerNormalization %x, %w, %none {axis = 2 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96xf32>, none) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @rms_norm(
// CHECK-NEXT: %[[RMSNORMALIZATION:.*]] = onnx.RMSNormalization %arg0, %arg1 {axis = 2 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RMSNORMALIZATION]]
func.func @rms_norm(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96xf32>) -> (!u) {
  %y = onnx.RMSNormalization %x, %w : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96xf32>) -> !u
  return %y : !u
}
