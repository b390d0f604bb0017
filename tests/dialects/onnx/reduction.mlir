// Axes become an attribute; without any all dims are reduced.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @axes(
// CHECK-NEXT: %[[REDUCEMEAN:.*]] = onnx.ReduceMean %arg0 {axes = array<i64: 2>, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x?x1xf32, #dist.value<dims = [b, s, 1]>>
// CHECK-NEXT: return %[[REDUCEMEAN]]
func.func @axes(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.ReduceMean %x, %a : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @dropped(
// CHECK-NEXT: %[[REDUCESUM:.*]] = onnx.ReduceSum %arg0 {axes = array<i64: 0, 2>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?xf32, #dist.value<dims = [s]>>
// CHECK-NEXT: return %[[REDUCESUM]]
func.func @dropped(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[2,0]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.ReduceSum %x, %a {keepdims = 0 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<2xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @all(
// CHECK-NEXT: %[[REDUCEMAX:.*]] = onnx.ReduceMax %arg0 {axes = array<i64: 0, 1>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<f32>
// CHECK-NEXT: return %[[REDUCEMAX]]
func.func @all(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %y = onnx.ReduceMax %x {keepdims = 0 : i64} : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @none(
// CHECK-NEXT: %[[REDUCEMIN:.*]] = onnx.ReduceMin %arg0 {axes = array<i64>, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[REDUCEMIN]]
func.func @none(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %y = onnx.ReduceMin %x {noop_with_empty_axes = 1 : i64} : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @others(
// CHECK-NEXT: %[[REDUCEPROD:.*]] = onnx.ReduceProd %arg0 {axes = array<i64: 1>, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x1xf32, #dist.value<dims = [b, 1]>>
// CHECK-NEXT: %[[REDUCEL1:.*]] = onnx.ReduceL1 %[[REDUCEPROD]] {axes = array<i64: 1>, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x1xf32, #dist.value<dims = [b, 1]>>
// CHECK-NEXT: %[[REDUCEL2:.*]] = onnx.ReduceL2 %[[REDUCEL1]] {axes = array<i64: 1>, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x1xf32, #dist.value<dims = [b, 1]>>
// CHECK-NEXT: %[[REDUCESUMSQUARE:.*]] = onnx.ReduceSumSquare %[[REDUCEL2]] {axes = array<i64: 1>, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x1xf32, #dist.value<dims = [b, 1]>>
// CHECK-NEXT: %[[REDUCELOGSUMEXP:.*]] = onnx.ReduceLogSumExp %[[REDUCESUMSQUARE]] {axes = array<i64: 1>, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x1xf32, #dist.value<dims = [b, 1]>>
// CHECK-NEXT: return %[[REDUCELOGSUMEXP]]
func.func @others(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %p = onnx.ReduceProd %x, %a : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<1xi64>) -> !u
  %q = onnx.ReduceL1 %p, %a : (!u, tensor<1xi64>) -> !u
  %r = onnx.ReduceL2 %q, %a : (!u, tensor<1xi64>) -> !u
  %t = onnx.ReduceSumSquare %r, %a : (!u, tensor<1xi64>) -> !u
  %u = onnx.ReduceLogSumExp %t, %a : (!u, tensor<1xi64>) -> !u
  return %u : !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[b * s * 96]>} : () -> tensor<i64>
// CHECK-NEXT: return %[[SYMBOLS]]
func.func @known(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %s = onnx.Shape %x : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  %y = onnx.ReduceProd %s {keepdims = 0 : i64} : (!u) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @arg(
// CHECK-NEXT: %[[ARGMAX:.*]] = onnx.ArgMax %arg0 {axis = 1 : i64, keepdims = 0 : i64} : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[ARGMIN:.*]] = onnx.ArgMin %arg0 : {{.*}} -> tensor<1x?xi64, #dist.value<dims = [1, s]>>
// CHECK-NEXT: return %[[ARGMAX]], %[[ARGMIN]]
func.func @arg(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u, !u) {
  %y = onnx.ArgMax %x {axis = -1 : i64, keepdims = 0 : i64} : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  %z = onnx.ArgMin %x {axis = 0 : i64} : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  return %y, %z : !u, !u
}

// CHECK-LABEL: func.func @cumsum(
// CHECK-NEXT: %[[CUMSUM:.*]] = onnx.CumSum %arg0 {axis = 1 : i64} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[CUMSUM]]
func.func @cumsum(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<-1> : tensor<i64>} : () -> tensor<i64>
  %y = onnx.CumSum %x, %a : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<i64>) -> !u
  return %y : !u
}
