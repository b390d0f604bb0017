// RUN: shard-opt %s --shardc-recover-caches --shardc-narrow-caches | FileCheck %s

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!inner = tensor<?x4xbf16, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xbf16, #dist.value<dims = [s, 4]>>
!all = tensor<?x4xbf16, #dist.value<dims = [past + s, 4]>>
!present = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[PAST:.*]]: tensor<?x4xbf16, {{.*}}> {onnx.given = f32},
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK-SAME: -> (tensor<?x4xbf16, {{.*}}> {onnx.cache = {dim = 0 : i64, input = 0 : i64, kind = "append"}, onnx.given = f32}
// CHECK-NEXT: %[[ALL:.*]] = onnx.Concat %[[PAST]], %[[X]]
// CHECK-NEXT: %[[Y:.*]] = onnx.Relu %[[ALL]]
// CHECK-NEXT: return %[[ALL]], %[[Y]]
func.func @main(%past: !past, %x: !new) -> (!present, !all) {
  %inner = onnx.Cast %past : (!past) -> !inner
  %all = onnx.Concat %inner, %x {axis = 0 : i64} : (!inner, !new) -> !all
  %present = onnx.Cast %all : (!all) -> !present
  %y = onnx.Relu %all : (!all) -> !all
  return %present, %y : !present, !all
}
