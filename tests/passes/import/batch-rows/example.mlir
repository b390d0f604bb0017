// A step takes the new positions of all rows one after the other; a row's keys are where
// its pages say. Only the wanted positions get an output.
// RUN: shard-opt %s --shardc-recover-caches --shardc-batch-rows="page=16" --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!mask = tensor<?x?xi1, #dist.value<dims = [b, past + s]>>
!past = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past, 8]>>
!present = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + s, 8]>>
!x = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!split = tensor<?x?x4x8xf32, #dist.value<dims = [b, s, 4, 8]>>
!heads = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, s, 8]>>
!shown = tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + s]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<1x?xi64, #dist.value<dims = [1, "tokens of a step"]>> {onnx.name = "ids"}
// CHECK-SAME: %[[MASK:[^:]*]]: tensor<?x?xi1, #dist.value<dims = ["rows of a step", "pages of a row" * 16]>> {onnx.name = "attention_mask"}
// CHECK-SAME: %[[POOL:[^:]*]]: tensor<?x4x16x8xf32, #dist.value<dims = ["pages of a pool", 4, 16, 8]>> {onnx.name = "past"}
// CHECK-SAME: {onnx.name = "rows.row"}, {{.*}} {onnx.name = "rows.position"}, %[[FIRST:[^:]*]]: {{.*}} {onnx.name = "rows.first"}, %[[PAST:[^:]*]]: {{.*}} {onnx.name = "rows.past"}
// CHECK-SAME: %[[SLOTS:[^:]*]]: {{[^}]*}} {onnx.name = "rows.slots"}, %[[PAGES:[^:]*]]: {{[^}]*}} {onnx.name = "rows.pages"}, %[[COPIES:[^:]*]]: {{[^}]*}} {onnx.name = "rows.copies"}, %[[WANTED:[^:]*]]: {{[^}]*}} {onnx.name = "rows.wanted"}
// CHECK-SAME: -> (tensor<1x?x32xf32, #dist.value<dims = [1, "wanted tokens", 32]>>, {{.*}} {onnx.cache = {dim = 0 : i64, input = 2 : i64, kind = "write"}}) attributes {onnx.causal, onnx.page = 16 : i64}
// CHECK: %[[X:.*]] = onnx.Gather %{{.*}}, %[[IDS]]
// CHECK: %[[HEADS:.*]] = onnx.Transpose
// CHECK-NEXT: %[[WRITTEN:.*]] = onnx.PageWrite %[[POOL]], %[[HEADS]], %[[SLOTS]], %[[COPIES]] {axis = 2 : i64}
// CHECK-NEXT: %[[SHOWN:.*]] = onnx.Reshape %[[MASK]]
// CHECK-NEXT: %[[Y:.*]] = onnx.PagedAttention %[[HEADS]], %[[WRITTEN]], %[[WRITTEN]], %[[PAGES]], %[[PAST]], %[[FIRST]], %[[SHOWN]] {is_causal = 1 : i64, scale = 5.000000e-01 : f32}
// CHECK-NEXT: onnx.Gather %[[Y]], %[[WANTED]] {axis = 2 : i64}
// CHECK: onnx.Gather %[[X]], %[[WANTED]] {axis = 1 : i64}
// CHECK: return %{{.*}}, %[[WRITTEN]]
func.func @main(%ids: !ids {onnx.name = "ids"}, %mask: !mask {onnx.name = "attention_mask"}, %past: !past {onnx.name = "past"}) -> (!x, !present) {
  %w = onnx.Weight {file = "w", length = 5120 : i64, name = "w", offset = 0 : i64} : () -> tensor<40x32xf32>
  %x = onnx.Gather %w, %ids : (tensor<40x32xf32>, !ids) -> !x
  %split = onnx.Reshape %x : (!x) -> !split
  %heads = onnx.Transpose %split {perm = array<i64: 0, 2, 1, 3>} : (!split) -> !heads
  %present = onnx.Concat %past, %heads {axis = 2 : i64} : (!past, !heads) -> !present
  %shown = onnx.Reshape %mask : (!mask) -> !shown
  %y = onnx.Attention %heads, %present, %present, %shown {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!heads, !present, !present, !shown) -> !heads
  %back = onnx.Transpose %y {perm = array<i64: 0, 2, 1, 3>} : (!heads) -> !split
  %merged = onnx.Reshape %back : (!split) -> !x
  %out = onnx.Add %x, %merged : (!x, !x) -> !x
  return %out, %present : !x, !present
}
