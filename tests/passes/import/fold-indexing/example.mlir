// RUN: shard-opt %s --shardc-fold-indexing | FileCheck %s

!mask = tensor<?x?xi1, #dist.value<dims = [b, s]>>
!b = tensor<?xi64, #dist.value<dims = [b]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!b4 = tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
!s4 = tensor<1x1x1x?xi64, #dist.value<dims = [1, 1, 1, s]>>
!bs = tensor<?x1x1x?xi64, #dist.value<dims = [b, 1, 1, s]>>
!column = tensor<?x1x1x?x1xi64, #dist.value<dims = [b, 1, 1, s, 1]>>
!columns = tensor<?x1x1x?x2xi64, #dist.value<dims = [b, 1, 1, s, 2]>>
!y = tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[MASK:[^:]*]]: tensor
// CHECK-NEXT: %[[Y:.*]] = onnx.Reshape %[[MASK]]
// CHECK-NEXT: return %[[Y]]
func.func @main(%mask: !mask) -> !y {
  %i = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !b
  %i4 = onnx.Reshape %i : (!b) -> !b4
  %is = onnx.Expand %i4 : (!b4) -> !bs
  %i5 = onnx.Reshape %is : (!bs) -> !column
  %j = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !s
  %j4 = onnx.Reshape %j : (!s) -> !s4
  %js = onnx.Expand %j4 : (!s4) -> !bs
  %j5 = onnx.Reshape %js : (!bs) -> !column
  %ij = onnx.Concat %i5, %j5 {axis = 4 : i64} : (!column, !column) -> !columns
  %y = onnx.GatherND %mask, %ij : (!mask, !columns) -> !y
  return %y : !y
}
