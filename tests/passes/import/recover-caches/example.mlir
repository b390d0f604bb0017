// What an op appends to, and what comes out, are past and present of a cache.
// RUN: shard-opt %s --shardc-recover-caches | FileCheck %s

!past = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>
!new = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
!present = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> ({{[^{]*}}, {{[^{]*}} {onnx.cache = {dim = 2 : i64, input = 0 : i64, kind = "append"}}) {
func.func @main(%past: !past {onnx.name = "past"}, %x: !new) -> (!present, !present) {
  %present = onnx.Concat %past, %x {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Relu %present : (!present) -> !present
  return %y, %present : !present, !present
}
