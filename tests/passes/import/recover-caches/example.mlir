// What an op appends to, and what comes out, are past and present of a cache.
// RUN: shard-opt %s --shardc-recover-caches | FileCheck %s

!past = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>
!new = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
!present = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
!fixed = tensor<1x4xf32>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: {{[^{]*}} {onnx.cache = 2 : i64, onnx.name = "past"}
// CHECK: onnx.Concat %arg0, %arg1 {axis = 2 : i64, onnx.cache = {dim = 2 : i64, input = 0 : i64, output = 1 : i64}}
func.func @main(%past: !past {onnx.name = "past"}, %x: !new) -> (!present, !present) {
  %present = onnx.Concat %past, %x {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Relu %present : (!present) -> !present
  return %y, %present : !present, !present
}

// CHECK-LABEL: func.func @not_an_output(
// CHECK-NOT: onnx.cache
func.func @not_an_output(%past: !past, %x: !new) -> !present {
  %all = onnx.Concat %past, %x {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Relu %all : (!present) -> !present
  return %y : !present
}

// CHECK-LABEL: func.func @fixed_size(
// CHECK-NOT: onnx.cache
func.func @fixed_size(%past: !fixed, %x: !fixed) -> tensor<2x4xf32> {
  %all = onnx.Concat %past, %x {axis = 0 : i64} : (!fixed, !fixed) -> tensor<2x4xf32>
  return %all : tensor<2x4xf32>
}
