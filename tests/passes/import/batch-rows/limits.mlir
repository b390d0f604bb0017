// Limits of a request are asked of each row: of too many positions no entry has a slot. An
// input of which two parts are read is no mask that rows give as much of as they have.
// RUN: shard-opt %s --split-input-file --shardc-recover-caches --shardc-batch-rows="page=16" --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
// CHECK-LABEL: func.func @guard(
// CHECK-NOT: onnx.Guard
// CHECK: %[[LENGTHS:.*]] = onnx.Add
// CHECK: %[[MOST:.*]] = onnx.Constant {value = dense<1000>
// CHECK: %[[FITS:.*]] = onnx.LessOrEqual %[[LENGTHS]], %[[MOST]]
// CHECK: %[[OFTOKENS:.*]] = onnx.Gather %[[FITS]]
// CHECK: %[[SLOTS:.*]] = onnx.Where %[[OFTOKENS]], %{{.*}}, %{{.*}}
// CHECK: onnx.LessOrEqual
// CHECK: %[[BOTH:.*]] = onnx.Where %{{.*}}, %[[SLOTS]], %{{.*}}
// CHECK: onnx.PageWrite %{{.*}}, %{{.*}}, %[[BOTH]], %
func.func @guard(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  onnx.Guard #dist.dims<[past + s]> "at_most" #dist.dims<[1000]> "table"
  onnx.Guard #dist.dims<[s]> "at_most" #dist.dims<[1000]> "table"
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Attention %new, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present) -> !new
  return %y, %present : !new, !present
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!x = tensor<?x?x?x?xf32, #dist.value<dims = [b, 1, s, n]>>
!q = tensor<?x?x?x?xf32, #dist.value<dims = [b, 1, s, q]>>
!r = tensor<?x?x?x?xf32, #dist.value<dims = [b, 1, s, r]>>
// CHECK-LABEL: func.func @two_fronts(
// CHECK: onnx.Slice
// CHECK-SAME: dims = [1, 1, "wanted tokens", n]
// CHECK-SAME: dims = [1, 1, "wanted tokens", q]
// CHECK: onnx.Slice
// CHECK-SAME: dims = [1, 1, "wanted tokens", r]
func.func @two_fronts(%z1: !q {onnx.name = "z1"}, %z2: !r {onnx.name = "z2"}, %x4: !x {onnx.name = "x4"}, %past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present, !q, !r) {
  onnx.Guard #dist.dims<[q]> "at_most" #dist.dims<[n]> "Slice: end q is clamped to n"
  onnx.Guard #dist.dims<[r]> "at_most" #dist.dims<[n]> "Slice: end r is clamped to n"
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %f = onnx.Slice %x4 {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (!x) -> !q
  %g = onnx.Slice %x4 {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (!x) -> !r
  %f2 = onnx.Add %f, %z1 : (!q, !q) -> !q
  %g2 = onnx.Add %g, %z2 : (!r, !r) -> !r
  %y = onnx.Attention %new, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present) -> !new
  return %y, %present, %f2, %g2 : !new, !present, !q, !r
}
