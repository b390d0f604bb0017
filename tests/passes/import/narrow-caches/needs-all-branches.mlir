// The prompt of a merged decoder sets the cache in float32: it stays so.
// RUN: shard-opt %s --shardc-recover-caches --shardc-narrow-caches | FileCheck %s

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!inner = tensor<?x4xbf16, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xbf16, #dist.value<dims = [s, 4]>>
!set = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!all = tensor<?x4xbf16, #dist.value<dims = [past + s, 4]>>
!present = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK: kind = "set"
// CHECK-NOT: onnx.given
func.func @main(%past: !past, %x: !set) -> !set {
  %y = onnx.Relu %x : (!set) -> !set
  return %y : !set
}

// CHECK-LABEL: func.func @main_1(
// CHECK: kind = "append"
// CHECK-NOT: onnx.given
// CHECK: onnx.Cast
func.func @main_1(%past: !past, %x: !set) -> !present {
  %inner = onnx.Cast %past : (!past) -> !inner
  %new = onnx.Cast %x : (!set) -> !new
  %all = onnx.Concat %inner, %new {axis = 0 : i64} : (!inner, !new) -> !all
  %present = onnx.Cast %all : (!all) -> !present
  return %present : !present
}
