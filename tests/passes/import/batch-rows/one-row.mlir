// What mixes positions of a row has a step of one row, whose positions are all that there are.
// RUN: shard-opt %s --split-input-file --shardc-recover-caches --shardc-batch-rows="page=16" --verify-diagnostics | FileCheck %s

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!q = tensor<?x2x?x8xui8, #dist.value<dims = [b, 2, s, 8]>>
// One scale of all positions. What is behind it is computed for those that are wanted.
// CHECK-LABEL: func.func @scales(
// CHECK-SAME: %[[NEW:[a-z0-9]+]]: tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, "tokens of a step", 8]>>
// CHECK-SAME: tensor<2xi64> {onnx.name = "rows.first"}
// CHECK-SAME: tensor<1xi64> {onnx.name = "rows.past"}
// CHECK-SAME: tensor<1x?xi64, #dist.value<dims = [1, "pages of a row"]>> {onnx.name = "rows.pages"}
// CHECK-SAME: %[[WANTED:[a-z0-9]+]]: tensor<?xi64, #dist.value<dims = ["wanted tokens"]>> {onnx.name = "rows.wanted"}
// CHECK-NOT: onnx.causal
// CHECK: %[[Y:.*]], %[[SCALE:.*]], %{{.*}} = onnx.DynamicQuantizeLinear %[[NEW]]
// CHECK-DAG: %[[CHOSEN:.*]] = onnx.Gather %[[Y]], %[[WANTED]] {axis = 2 : i64}
// CHECK-DAG: %[[FLOATS:.*]] = onnx.Cast %[[CHOSEN]]
// CHECK: onnx.Mul %[[FLOATS]], %[[SCALE]] {{.*}}, tensor<f32>)
func.func @scales(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  // expected-warning@+1 {{its result is not one for each new position: a step has one row, whose prompt comes whole}}
  %y, %scale, %zero = onnx.DynamicQuantizeLinear %new : (!new) -> (!q, tensor<f32>, tensor<ui8>)
  %f = onnx.Cast %y : (!q) -> !new
  %z = onnx.Mul %f, %scale : (!new, tensor<f32>) -> !new
  return %z, %present : !new, !present
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
// An output of the whole row is that of the step.
// CHECK-LABEL: func.func @sum(
// CHECK: onnx.ReduceSum {{.*}} -> tensor<1x2x8xf32>
func.func @sum(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (tensor<?x2x8xf32, #dist.value<dims = [b, 2, 8]>>, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  // expected-warning@+1 {{has no place in a step of rows of different lengths: it makes one value of all positions}}
  %y = onnx.ReduceSum %new {axes = array<i64: 2>, keepdims = 0 : i64} : (!new) -> tensor<?x2x8xf32, #dist.value<dims = [b, 2, 8]>>
  return %y, %present : tensor<?x2x8xf32, #dist.value<dims = [b, 2, 8]>>, !present
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
// There is no other row of the batch.
// CHECK-LABEL: func.func @batch(
// CHECK: onnx.ReduceMax
// CHECK: onnx.PagedAttention
func.func @batch(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  // expected-warning@+1 {{has no place in a step of rows of different lengths: it mixes rows of the batch}}
  %m = onnx.ReduceMax %new {axes = array<i64: 0>} : (!new) -> tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, s, 8]>>
  %k = onnx.Sub %new, %m : (!new, tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, s, 8]>>) -> !new
  %present = onnx.Concat %past, %k {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Attention %new, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present) -> !new
  return %y, %present : !new, !present
}
