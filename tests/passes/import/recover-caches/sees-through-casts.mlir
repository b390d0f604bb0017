// A model in bfloat16 whose inputs and outputs are float32. Only the cast may
// read past: all of present is written.
// RUN: shard-opt %s --split-input-file --shardc-recover-caches | FileCheck %s

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!inner = tensor<?x4xbf16, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xbf16, #dist.value<dims = [s, 4]>>
!all = tensor<?x4xbf16, #dist.value<dims = [past + s, 4]>>
!present = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: {onnx.cache = {dim = 0 : i64, input = 0 : i64, kind = "append"}}
func.func @main(%past: !past, %x: !new) -> !present {
  %inner = onnx.Cast %past : (!past) -> !inner
  %all = onnx.Concat %inner, %x {axis = 0 : i64} : (!inner, !new) -> !all
  %present = onnx.Cast %all : (!all) -> !present
  return %present : !present
}

// -----

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!inner = tensor<?x4xbf16, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xbf16, #dist.value<dims = [s, 4]>>
!all = tensor<?x4xbf16, #dist.value<dims = [past + s, 4]>>
!present = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>

// CHECK-LABEL: func.func @read_twice(
// CHECK-NOT: onnx.cache
func.func @read_twice(%past: !past, %x: !new) -> (!present, !past) {
  %inner = onnx.Cast %past : (!past) -> !inner
  %all = onnx.Concat %inner, %x {axis = 0 : i64} : (!inner, !new) -> !all
  %present = onnx.Cast %all : (!all) -> !present
  %y = onnx.Relu %past : (!past) -> !past
  return %present, %y : !present, !past
}
