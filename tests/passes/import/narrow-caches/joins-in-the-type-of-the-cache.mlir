// What is computed in a wider float keeps its own join; the cache is appended
// to without a cast of what it holds.
// RUN: shard-opt %s --shardc-recover-caches --shardc-narrow-caches | FileCheck %s

!past = tensor<?x4xbf16, #dist.value<dims = [past, 4]>>
!inner = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!all = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>
!present = tensor<?x4xbf16, #dist.value<dims = [past + s, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[PAST:.*]]: tensor<?x4xbf16,
// CHECK-SAME: %[[X:[^:]*]]: tensor
// CHECK-NOT: onnx.given
// CHECK: %[[WIDE:.*]] = onnx.Cast %[[PAST]]
// CHECK: %[[ALL:.*]] = onnx.Concat %[[WIDE]], %[[X]]
// CHECK: %[[NEW:.*]] = onnx.Cast %[[X]]
// CHECK: %[[PRESENT:.*]] = onnx.Concat %[[PAST]], %[[NEW]] {{.*}}-> tensor<?x4xbf16
// CHECK: %[[Y:.*]] = onnx.Relu %[[ALL]]
// CHECK: return %[[PRESENT]], %[[Y]]
func.func @main(%past: !past, %x: !new) -> (!present, !all) {
  %inner = onnx.Cast %past : (!past) -> !inner
  %all = onnx.Concat %inner, %x {axis = 0 : i64} : (!inner, !new) -> !all
  %present = onnx.Cast %all : (!all) -> !present
  %y = onnx.Relu %all : (!all) -> !all
  return %present, %y : !present, !all
}
