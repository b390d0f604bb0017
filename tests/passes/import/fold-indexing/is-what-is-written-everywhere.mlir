// TorchScript's x[...] = updates, where nothing of x is left; and a part of x.
// RUN: shard-opt %s --shardc-fold-indexing | FileCheck %s

!x = tensor<?x?xf32, #dist.value<dims = [b, s]>>
!b = tensor<?xi64, #dist.value<dims = [b]>>
!b1 = tensor<?x1xi64, #dist.value<dims = [b, 1]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!bs = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!column = tensor<?x?x1xi64, #dist.value<dims = [b, s, 1]>>
!columns = tensor<?x?x2xi64, #dist.value<dims = [b, s, 2]>>
!t = tensor<?xi64, #dist.value<dims = [t]>>
!t1 = tensor<?x1xi64, #dist.value<dims = [t, 1]>>
!tx = tensor<?x?xf32, #dist.value<dims = [t, s]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor{{.*}}, %[[ALL:[^:]*]]: tensor{{.*}}, %[[SOME:[^:]*]]: tensor
// CHECK-NOT: onnx.ScatterND
// CHECK: %[[PART:.*]] = onnx.ScatterND %[[X]]
// CHECK-NEXT: return %[[ALL]], %[[PART]]
func.func @main(%x: !x, %all: !x, %some: !tx) -> (!x, !x) {
  %i = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !b
  %i1 = onnx.Reshape %i : (!b) -> !b1
  %is = onnx.Expand %i1 : (!b1) -> !bs
  %i3 = onnx.Reshape %is : (!bs) -> !column
  %j = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !s
  %js = onnx.Expand %j : (!s) -> !bs
  %j3 = onnx.Reshape %js : (!bs) -> !column
  %ij = onnx.Concat %i3, %j3 {axis = 2 : i64} : (!column, !column) -> !columns
  %whole = onnx.ScatterND %x, %ij, %all : (!x, !columns, !x) -> !x
  %k = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !t
  %k1 = onnx.Reshape %k : (!t) -> !t1
  %part = onnx.ScatterND %x, %k1, %some : (!x, !t1, !tx) -> !x
  return %whole, %part : !x, !x
}
