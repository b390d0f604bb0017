// Cosines that were flattened, and are read row by row through positions that
// count as one: as ONNX Runtime's exporter feeds its RotaryEmbedding.
// RUN: shard-opt %s --shardc-fold-indexing | FileCheck %s

!x = tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
!flat = tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>
!all = tensor<?xi64, #dist.value<dims = [b * s]>>
!bs = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!sb = tensor<?x?xi64, #dist.value<dims = [s, b]>>
!y = tensor<?x?x8xf32, #dist.value<dims = [s, b, 8]>>

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @rows(%x: !x) -> !x {
  %flat = onnx.Reshape %x : (!x) -> !flat
  %i = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !all
  %at = onnx.Reshape %i : (!all) -> !bs
  %y = onnx.Gather %flat, %at : (!flat, !bs) -> !x
  return %y : !x
}

// [j, i] is not j * b + i of [b, s].
// CHECK-LABEL: func.func @mixed(
// CHECK: onnx.Gather
func.func @mixed(%x: !x) -> !y {
  %flat = onnx.Reshape %x : (!x) -> !flat
  %i = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !all
  %at = onnx.Reshape %i : (!all) -> !sb
  %y = onnx.Gather %flat, %at : (!flat, !sb) -> !y
  return %y : !y
}
