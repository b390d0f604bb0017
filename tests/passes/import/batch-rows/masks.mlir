// Masks of new positions and keys, as exporters compute them: places of queries and keys are
// compared, sizes are numbers of a row, and sums leave out keys that a row does not have.
// RUN: shard-opt %s --shardc-recover-caches --shardc-batch-rows="page=16" --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!mask = tensor<?x?xi64, #dist.value<dims = [b, past + s]>>
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!rows = tensor<?xi64, #dist.value<dims = [b]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!column = tensor<?x1xi64, #dist.value<dims = [s, 1]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
!pairs = tensor<?x?xi1, #dist.value<dims = [s, past + s]>>
!pairsf = tensor<?x?xf32, #dist.value<dims = [s, past + s]>>
!all = tensor<?x1x?x?xf32, #dist.value<dims = [b, 1, s, past + s]>>
!ofrow = tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
!shown = tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + s]>>
!sums = tensor<?x1x?x1xf32, #dist.value<dims = [b, 1, s, 1]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[ROW:[^:]*]]: {{[^}]*}} {onnx.name = "rows.row"}, %[[POSITION:[^:]*]]: {{[^}]*}} {onnx.name = "rows.position"}, %{{.*}}: {{[^}]*}} {onnx.name = "rows.first"}, %[[PAST:[^:]*]]: {{[^}]*}} {onnx.name = "rows.past"}
// The sum of a row's mask, of the keys that it has.
// CHECK: %[[LENGTHS:.*]] = onnx.Add %[[PAST]], %
// CHECK: %[[OFROW:.*]] = onnx.Reshape %[[LENGTHS]]
// CHECK: %[[HAS:.*]] = onnx.Less %{{.*}}, %[[OFROW]]
// CHECK: %[[MASK:.*]] = onnx.Where %[[HAS]]
// CHECK: onnx.ReduceSum %[[MASK]] {axes = array<i64: 2>
// Which of its row each token is, behind as many keys as the row has.
// CHECK: %[[PASTS:.*]] = onnx.Gather %[[PAST]], %[[ROW]]
// CHECK: onnx.Sub %[[POSITION]], %[[PASTS]]
// CHECK: onnx.LessOrEqual
// CHECK-SAME: dims = ["tokens of a step", "pages of a row" * 16]
// The triangle, by place of token and key.
// CHECK: %[[BELOW:.*]] = onnx.LessOrEqual
// CHECK: onnx.Where %[[BELOW]]
// What a row's mask shows, for each of its tokens.
// CHECK: %[[SHOWN:.*]] = onnx.Less
// CHECK: %[[OFTOKEN:.*]] = onnx.Gather %[[SHOWN]], %[[ROW]]
// CHECK: %[[AT:.*]] = onnx.Reshape %[[OFTOKEN]]
// CHECK: %[[ALL:.*]] = onnx.Where %[[AT]]
// CHECK: %[[WANTED:.*]] = onnx.Gather %[[ALL]], %{{.*}} {axis = 2 : i64}
// CHECK: %[[THERE:.*]] = onnx.Where %{{.*}}, %[[WANTED]]
// CHECK: onnx.ReduceSum %[[THERE]]
// CHECK: onnx.PagedAttention %{{.*}}, %[[ALL]] {scale
func.func @main(%ids: !ids {onnx.name = "ids"}, %mask: !mask {onnx.name = "attention_mask"}, %past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !sums, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %lengths = onnx.ReduceSum %mask {axes = array<i64: 1>, keepdims = 0 : i64} : (!mask) -> !rows
  %size = onnx.Symbols {values = #dist.dims<[past]>} : () -> tensor<i64>
  %range = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !s
  %at = onnx.Add %range, %size : (!s, tensor<i64>) -> !s
  %column = onnx.Reshape %at : (!s) -> !column
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.LessOrEqual %keys, %column : (!keys, !column) -> !pairs
  %seenf = onnx.Cast %seen : (!pairs) -> !pairsf
  %triangle = onnx.Trilu %seenf {bounds = #dist.dims<[past + 1]>, upper = 0 : i64} : (!pairsf) -> !pairsf
  %ofrow = onnx.Reshape %lengths : (!rows) -> !ofrow
  %shown = onnx.Less %keys, %ofrow : (!keys, !ofrow) -> !shown
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %all = onnx.Where %shown, %triangle, %none : (!shown, !pairsf, tensor<f32>) -> !all
  %sums = onnx.ReduceSum %all {axes = array<i64: 3>} : (!all) -> !sums
  %y = onnx.Attention %new, %present, %present, %all {scale = 5.000000e-01 : f32} : (!new, !present, !present, !all) -> !new
  return %y, %sums, %present : !new, !sums, !present
}
