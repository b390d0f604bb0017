// Some of the rows, rows from the second one on, a diagonal.
// RUN: shard-opt %s --shardc-fold-indexing | FileCheck %s

!x = tensor<?x?xf32, #dist.value<dims = [n, n]>>
!n = tensor<?xi64, #dist.value<dims = [n]>>
!n1 = tensor<?x1xi64, #dist.value<dims = [n, 1]>>
!n2 = tensor<?x2xi64, #dist.value<dims = [n, 2]>>
!m = tensor<?xi64, #dist.value<dims = [m]>>
!xm = tensor<?x?xf32, #dist.value<dims = [m, n]>>
!d = tensor<?xf32, #dist.value<dims = [n]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.Gather
// CHECK: onnx.Gather
// CHECK: onnx.GatherND
// CHECK: return
func.func @main(%x: !x) -> (!xm, !x, !d) {
  %some = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !m
  %rows = onnx.Gather %x, %some : (!x, !m) -> !xm
  %later = onnx.Range {bounds = #dist.dims<[1, 1]>} : () -> !n
  %moved = onnx.Gather %x, %later : (!x, !n) -> !x
  %i = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !n
  %i1 = onnx.Reshape %i : (!n) -> !n1
  %ii = onnx.Concat %i1, %i1 {axis = 1 : i64} : (!n1, !n1) -> !n2
  %diagonal = onnx.GatherND %x, %ii : (!x, !n2) -> !d
  return %rows, %moved, %diagonal : !xm, !x, !d
}
