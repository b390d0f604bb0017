// Present is cast at the end of the model, as exporters of a narrower type write it: that
// belongs to the stage that appends. The cut is not between a cache and what reads it,
// where the fewest other bytes would cross.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-cut-stages --shardc-verify-phase="phase=staged allows-unrecorded=true" | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [s, 16]>>
!k = tensor<?x16xf16, #dist.value<dims = [s, 16]>>
!past = tensor<?x16xf16, #dist.value<dims = [p, 16]>>
!all = tensor<?x16xf16, #dist.value<dims = [p + s, 16]>>
!present = tensor<?x16xf32, #dist.value<dims = [p + s, 16]>>
!mixed = tensor<1x16xf32>
dist.mesh @mesh <["pp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK: "wk"
// CHECK: %[[ALL:.*]] = onnx.Concat
// CHECK-NEXT: %[[PRESENT:.*]] = onnx.Cast %[[ALL]]
// CHECK: onnx.ReduceSum
// CHECK: dist.send
// CHECK-NOT: dist.send
// CHECK: return %[[PRESENT]]
// CHECK-LABEL: func.func @stage1(
// CHECK: "wo"
func.func @main(%x: !x, %past: !past {onnx.name = "past"}) -> (!mixed, !present {onnx.cache = {dim = 0 : i64, input = 1 : i64, kind = "append"}}) {
  %wk = onnx.Weight {name = "wk", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 1024 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %0 = onnx.MatMul %x, %wk : (!x, tensor<16x16xf32>) -> !x
  %1 = onnx.Cast %0 {to = 10 : i64} : (!x) -> !k
  %2 = onnx.Concat %past, %1 {axis = 0 : i64} : (!past, !k) -> !all
  %3 = onnx.Cast %2 {to = 1 : i64} : (!all) -> !present
  %4 = onnx.ReduceSum %3 {axes = array<i64: 0>, keepdims = 1 : i64} : (!present) -> !mixed
  %5 = onnx.MatMul %4, %wo : (!mixed, tensor<16x16xf32>) -> !mixed
  %6 = onnx.Cast %2 {to = 1 : i64} : (!all) -> !present
  return %5, %6 : !mixed, !present
}
