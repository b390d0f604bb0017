// Keys of cross-attention are made of what rows give of their encoders, side by side, and go
// into pages of the pool of self-attention; all of them are seen, whatever the positions.
// RUN: shard-opt %s --shardc-recover-caches --shardc-batch-rows="page=16" --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!x = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, s, 8]>>
!states = tensor<?x?x32xf32, #dist.value<dims = [b, e, 32]>>
!split = tensor<?x?x4x8xf32, #dist.value<dims = [b, e, 4, 8]>>
!keys = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, e, 8]>>
!mask = tensor<?x?xi1, #dist.value<dims = [b, e]>>
!wide = tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, e]>>
!past = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past, 8]>>
!present = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + s, 8]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x4x?x8xf32, #dist.value<dims = [1, 4, "tokens of a step", 8]>>
// CHECK-SAME: %[[STATES:[^:]*]]: tensor<1x?x32xf32, #dist.value<dims = [1, "encoder keys of a step", 32]>> {onnx.name = "states"}
// CHECK-SAME: %[[MASK:[^:]*]]: tensor<?x?xi1, #dist.value<dims = ["rows of a step", "pages of encoder keys" * 16]>> {onnx.name = "mask"}
// CHECK-SAME: %[[POOL:[^:]*]]: tensor<?x4x16x8xf32, #dist.value<dims = ["pages of a pool", 4, 16, 8]>> {onnx.name = "past"}
// CHECK-SAME: %[[FIRST:[^:]*]]: {{[^}]*}} {onnx.name = "rows.first"}
// CHECK-SAME: %[[SLOTS:[^:]*]]: {{[^}]*}} {onnx.name = "rows.slots"}
// CHECK-SAME: %[[COPIES:[^:]*]]: {{[^}]*}} {onnx.name = "rows.copies"}
// CHECK-SAME: %[[LENGTHS:[^:]*]]: {{[^}]*}} {onnx.name = "rows.encoder_lengths"}, %[[ESLOTS:[^:]*]]: {{[^}]*}} {onnx.name = "rows.encoder_slots"}, %[[EPAGES:[^:]*]]: {{[^}]*}} {onnx.name = "rows.encoder_pages"}
// CHECK: %[[MADE:.*]] = onnx.Transpose
// CHECK-NEXT: %[[BOTH:.*]] = onnx.Concat %[[MADE]], %[[X]] {axis = 2 : i64}
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Concat %[[ESLOTS]], %[[SLOTS]] {axis = 0 : i64}
// CHECK-NEXT: %[[WRITTEN:.*]] = onnx.PageWrite %[[POOL]], %[[BOTH]], %[[WHERE]], %[[COPIES]] {axis = 2 : i64}
// CHECK: %[[Y:.*]] = onnx.PagedAttention %[[X]], %[[WRITTEN]], %[[WRITTEN]]
// CHECK: %[[SHOWN:.*]] = onnx.Reshape %[[MASK]]
// CHECK: %[[COUNTS:.*]] = onnx.Sub
// CHECK-NEXT: %[[BEFORE:.*]] = onnx.Sub %[[LENGTHS]], %[[COUNTS]]
// CHECK-NEXT: onnx.PagedAttention %[[Y]], %[[WRITTEN]], %[[WRITTEN]], %[[EPAGES]], %[[BEFORE]], %[[FIRST]], %{{.*}} {scale = 5.000000e-01 : f32}
func.func @main(%x: !x {onnx.name = "x"}, %states: !states {onnx.name = "states"}, %mask: !mask {onnx.name = "mask"}, %past: !past {onnx.name = "past"}) -> (!x, !present) {
  %present = onnx.Concat %past, %x {axis = 2 : i64} : (!past, !x) -> !present
  %y = onnx.Attention %x, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!x, !present, !present) -> !x
  %split = onnx.Reshape %states : (!states) -> !split
  %keys = onnx.Transpose %split {perm = array<i64: 0, 2, 1, 3>} : (!split) -> !keys
  %wide = onnx.Reshape %mask : (!mask) -> !wide
  %z = onnx.Attention %y, %keys, %keys, %wide {scale = 5.000000e-01 : f32} : (!x, !keys, !keys, !wide) -> !x
  return %z, %present : !x, !present
}
