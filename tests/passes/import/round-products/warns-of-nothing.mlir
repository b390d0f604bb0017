// RUN: shard-opt %s --shardc-round-products=type=int8 2>&1 | FileCheck %s

!x = tensor<?x8xf32, #dist.value<dims = [s, 8]>>
!y = tensor<?x4xf32, #dist.value<dims = [s, 4]>>

// CHECK: warning: --compute int8: no product has quantised weights of 2, 4 or 8 bits: all is computed in the model's own types
func.func @main(%x: !x {onnx.name = "x"}) -> (!y {onnx.name = "y"}) {
  %w = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "w", offset = 0 : i64} : () -> tensor<8x4xf32>
  %y = onnx.MatMul %x, %w : (!x, tensor<8x4xf32>) -> !y
  return %y : !y
}
