// Opset 11: axes and sizes are attributes, Softmax flattens from its axis on.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

module attributes {onnx.opset = 11 : i64} {
// CHECK-LABEL: func.func @axes(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [batch, seq, 8]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[RESHAPE]] : {{.*}} -> tensor<1x?x?x8xf32, #dist.value<dims = [1, batch, seq, 8]>>
// CHECK-NEXT: %[[REDUCESUM:.*]] = onnx.ReduceSum %[[RESHAPE2]] {axes = array<i64: 3>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<1x?x?xf32, #dist.value<dims = [1, batch, seq]>>
// CHECK-NEXT: return %[[REDUCESUM]]
func.func @axes(%x: tensor<?x1x?x8xf32, #dist.value<dims = [batch, 1, seq, 8]>>) -> (!u) {
  %a = onnx.Squeeze %x {axes = array<i64: 1>} : (tensor<?x1x?x8xf32, #dist.value<dims = [batch, 1, seq, 8]>>) -> !u
  %b = onnx.Unsqueeze %a {axes = array<i64: 0>} : (!u) -> !u
  %c = onnx.ReduceSum %b {axes = array<i64: -1>, keepdims = 0 : i64} : (!u) -> !u
  return %c : !u
}

// CHECK-LABEL: func.func @split(
// CHECK-NEXT: %[[SPLIT:.*]]:2 = onnx.Split %arg0 {axis = 1 : i64} : {{.*}} -> (tensor<?x4xf32, #dist.value<dims = [batch, 4]>>, tensor<?x8xf32, #dist.value<dims = [batch, 8]>>)
// CHECK-NEXT: return %[[SPLIT]]#0, %[[SPLIT]]#1
func.func @split(%x: tensor<?x12xf32, #dist.value<dims = [batch, 12]>>) -> (!u, !u) {
  %a, %b = onnx.Split %x {axis = 1 : i64, split = array<i64: 4, 8>} : (tensor<?x12xf32, #dist.value<dims = [batch, 12]>>) -> (!u, !u)
  return %a, %b : !u, !u
}

// CHECK-LABEL: func.func @slice(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 2]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [batch, 8]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @slice(%x: tensor<?x12xf32, #dist.value<dims = [batch, 12]>>) -> (!u) {
  %y = onnx.Slice %x {starts = array<i64: 2>, ends = array<i64: -2>, axes = array<i64: 1>} : (tensor<?x12xf32, #dist.value<dims = [batch, 12]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @softmax(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [batch, seq * 6]>>
// CHECK-NEXT: %[[SOFTMAX:.*]] = onnx.Softmax %[[RESHAPE]] {axis = 1 : i64} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [batch, seq * 6]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SOFTMAX]] : {{.*}} -> tensor<?x6x?xf32, #dist.value<dims = [batch, 6, seq]>>
// CHECK-NEXT: return %[[RESHAPE2]]
func.func @softmax(%x: tensor<?x6x?xf32, #dist.value<dims = [batch, 6, seq]>>) -> (!u) {
  %y = onnx.Softmax %x {axis = 1 : i64} : (tensor<?x6x?xf32, #dist.value<dims = [batch, 6, seq]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @softmax_last(
// CHECK-NEXT: %[[SOFTMAX:.*]] = onnx.Softmax %arg0 {axis = 2 : i64} : {{.*}} -> tensor<?x6x?xf32, #dist.value<dims = [batch, 6, seq]>>
// CHECK-NEXT: return %[[SOFTMAX]]
func.func @softmax_last(%x: tensor<?x6x?xf32, #dist.value<dims = [batch, 6, seq]>>) -> (!u) {
  %y = onnx.Softmax %x {axis = 2 : i64} : (tensor<?x6x?xf32, #dist.value<dims = [batch, 6, seq]>>) -> !u
  return %y : !u
}
}
