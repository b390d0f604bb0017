// Parts of tables that follow from a row's sizes: the elements of its places are
// chosen. Sums along the keys of a row are its own.
// RUN: shard-opt %s --split-input-file --shardc-recover-caches --shardc-batch-rows="page=16" --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!rows = tensor<1x1x?x64xi1, #dist.value<dims = [1, 1, s, 64]>>
!mask = tensor<1x1x?x?xi1, #dist.value<dims = [1, 1, s, past + s]>>
// Rows from the past on, and of these as many columns as there are keys. No row
// has more than the table.
// CHECK-LABEL: func.func @rows_and_columns(
// CHECK: %[[TABLE:.*]] = onnx.Weight
// CHECK: %[[TOKEN:.*]] = onnx.Min %{{.*}} -> tensor<?xi64, #dist.value<dims = ["tokens of a step"]>>
// CHECK: %[[ROWS:.*]] = onnx.Gather %[[TABLE]], %[[TOKEN]] {axis = 2 : i64}
// CHECK: %[[KEY:.*]] = onnx.Min %{{.*}} -> tensor<?xi64, #dist.value<dims = ["pages of a row" * 16]>>
// CHECK: %[[MASK:.*]] = onnx.Gather %[[ROWS]], %[[KEY]] {axis = 3 : i64}
// CHECK: onnx.PagedAttention %{{.*}}, %[[MASK]] {
func.func @rows_and_columns(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  onnx.Guard #dist.dims<[past]> "at_most" #dist.dims<[64]> "Slice: start past is clamped to 64"
  onnx.Guard #dist.dims<[past + s]> "at_most" #dist.dims<[64]> "Slice: end past + s is clamped to 64"
  %table = onnx.Weight {name = "t", file = "m.onnx", offset = 0 : i64, length = 4096 : i64} : () -> tensor<1x1x64x64xi1>
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %rows = onnx.Slice %table {bounds = #dist.dims<[0, 0, past, 0]>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x1x64x64xi1>) -> !rows
  %mask = onnx.Slice %rows {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (!rows) -> !mask
  %y = onnx.Attention %new, %present, %present, %mask {scale = 5.000000e-01 : f32} : (!new, !present, !present, !mask) -> !new
  return %y, %present : !new, !present
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!bias = tensor<2x1x?xf32, #dist.value<dims = [2, 1, past + s]>>
// The end of a table: where it begins differs from row to row.
// CHECK-LABEL: func.func @last(
// CHECK: %[[TABLE:.*]] = onnx.Weight
// CHECK: %[[PLACE:.*]] = onnx.Min %{{.*}} -> tensor<?x?xi64, #dist.value<dims = ["rows of a step", "pages of a row" * 16]>>
// CHECK: %[[CHOSEN:.*]] = onnx.Gather %[[TABLE]], %[[PLACE]] {axis = 2 : i64}
// CHECK: %[[BIAS:.*]] = onnx.Transpose %[[CHOSEN]] {perm = array<i64: 2, 0, 1, 3>}
// CHECK: onnx.PagedAttention %{{.*}}, %[[BIAS]] {
func.func @last(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  onnx.Guard #dist.dims<[past * -1 - s]> "at_least" #dist.dims<[-64]> "Slice: start past * -1 - s + 64"
  %table = onnx.Weight {name = "t", file = "m.onnx", offset = 0 : i64, length = 512 : i64} : () -> tensor<2x1x64xf32>
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %bias = onnx.Slice %table {bounds = #dist.dims<[0, 0, past * -1 - s + 64]>, steps = array<i64: 1, 1, 1>} : (tensor<2x1x64xf32>) -> !bias
  %y = onnx.Attention %new, %present, %present, %bias {scale = 5.000000e-01 : f32} : (!new, !present, !present, !bias) -> !new
  return %y, %present : !new, !present
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!ones = tensor<?x?xf32, #dist.value<dims = [b, past + s]>>
!bias = tensor<?x1x1x?xf32, #dist.value<dims = [b, 1, 1, past + s]>>
// CHECK-LABEL: func.func @sums(
// CHECK: onnx.CumSum %{{.*}} {axis = 2 : i64}
// From the end on, only keys that a row has count.
// CHECK: %[[OWN:.*]] = onnx.Where
// CHECK: onnx.CumSum %[[OWN]] {axis = 2 : i64, reverse = 1 : i64}
func.func @sums(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}, %ones: !ones {onnx.name = "ones"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %place = onnx.CumSum %ones {axis = 1 : i64} : (!ones) -> !ones
  %left = onnx.CumSum %ones {axis = 1 : i64, reverse = 1 : i64} : (!ones) -> !ones
  %sum = onnx.Add %place, %left : (!ones, !ones) -> !ones
  %bias = onnx.Reshape %sum : (!ones) -> !bias
  %y = onnx.Attention %new, %present, %present, %bias {scale = 5.000000e-01 : f32} : (!new, !present, !present, !bias) -> !new
  return %y, %present : !new, !present
}
