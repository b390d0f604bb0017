// The other order of the index's dims is a Transpose; a dim that it does not
// count along is repeated.
// RUN: shard-opt %s --shardc-fold-indexing | FileCheck %s

!mask = tensor<?x?xi1, #dist.value<dims = [b, s]>>
!flat = tensor<?x1xi1, #dist.value<dims = [b * s, 1]>>
!b = tensor<?xi64, #dist.value<dims = [b]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!s3 = tensor<?x1x1xi64, #dist.value<dims = [s, 1, 1]>>
!one = tensor<1xi64, #dist.value<dims = [1]>>
!sb = tensor<?x1x?xi64, #dist.value<dims = [s, 1, b]>>
!many = tensor<?x7x?xi64, #dist.value<dims = [s, 7, b]>>
!y = tensor<?x7x?x1xi1, #dist.value<dims = [s, 7, b, 1]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[MASK:[^:]*]]: tensor
// CHECK-NEXT: %[[T:.*]] = onnx.Transpose %[[MASK]] {perm = array<i64: 1, 0>}
// CHECK-NEXT: %[[R:.*]] = onnx.Reshape %[[T]]
// CHECK-SAME: dims = [s, 1, b, 1]
// CHECK-NEXT: %[[Y:.*]] = onnx.Expand %[[R]]
// CHECK-SAME: dims = [s, 7, b, 1]
// CHECK-NEXT: return %[[Y]]
func.func @main(%mask: !mask) -> !y {
  %flat = onnx.Reshape %mask : (!mask) -> !flat
  %i = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !b
  %width = onnx.Symbols {values = #dist.dims<[s]>} : () -> !one
  %row = onnx.Mul %i, %width : (!b, !one) -> !b
  %j = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !s
  %j3 = onnx.Reshape %j : (!s) -> !s3
  %at = onnx.Add %row, %j3 : (!b, !s3) -> !sb
  %all = onnx.Expand %at : (!sb) -> !many
  %y = onnx.Gather %flat, %all : (!flat, !many) -> !y
  return %y : !y
}
