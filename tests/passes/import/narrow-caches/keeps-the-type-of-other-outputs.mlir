// Past is an output of its own as well, which stays float32.
// RUN: shard-opt %s --shardc-narrow-caches | FileCheck %s

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!inner = tensor<?x4xbf16, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xbf16, #dist.value<dims = [s, 4]>>
!all = tensor<?x4xbf16, #dist.value<dims = [past + s, 4]>>
!present = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[PAST:[^:]*]]: tensor<?x4xf32
// CHECK-NOT: onnx.given
// CHECK: return %{{.*}}, %[[PAST]]
func.func @main(%past: !past, %x: !new) -> (!present {onnx.cache = {dim = 0 : i64, input = 0 : i64, kind = "append"}}, !past) {
  %inner = onnx.Cast %past : (!past) -> !inner
  %all = onnx.Concat %inner, %x {axis = 0 : i64} : (!inner, !new) -> !all
  %present = onnx.Cast %all : (!all) -> !present
  return %present, %past : !present, !past
}
