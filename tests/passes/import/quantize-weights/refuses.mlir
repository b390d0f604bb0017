// RUN: split-file %s %t
// RUN: not shard-opt %t/quantised.mlir --shardc-quantize-weights 2>&1 | FileCheck %s --check-prefix=QUANTISED
// RUN: not shard-opt %t/nothing.mlir --shardc-quantize-weights=type=fp8 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not shard-opt %t/half.mlir --shardc-quantize-weights=type=bf16 2>&1 | FileCheck %s --check-prefix=HALF

// QUANTISED: error: {{.*}}has weights that are quantised already: leave --weights-type out, or compile the model in floats
// NOTHING: error: --weights-type fp8: no product has a matrix of floats in the model's files as its weights; leave it out
// HALF: error: --weights-type bf16: no product has a matrix of f32 in the model's files as its weights; leave it out

//--- quantised.mlir
!x = tensor<?x64xf32, #dist.value<dims = [s, 64]>>
!y = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
func.func @main(%x: !x {onnx.name = "x"}) -> (!y {onnx.name = "y"}) {
  %w = onnx.Weight {file = "m.onnx", length = 256 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x4xi8>
  %s = onnx.Weight {file = "m.onnx", length = 4 : i64, name = "s", offset = 256 : i64} : () -> tensor<1x1xf32>
  %n = onnx.DequantizeLinear %w, %s {axis = 0 : i64} : (tensor<64x4xi8>, tensor<1x1xf32>) -> tensor<64x4xf32>
  %y = onnx.MatMul %x, %n : (!x, tensor<64x4xf32>) -> !y
  return %y : !y
}
//--- nothing.mlir
!x = tensor<?x64xf32, #dist.value<dims = [s, 64]>>
func.func @main(%x: !x {onnx.name = "x"}) -> (!x {onnx.name = "y"}) {
  %y = onnx.Add %x, %x : (!x, !x) -> !x
  return %y : !x
}
//--- half.mlir
!x = tensor<?x64xf16, #dist.value<dims = [s, 64]>>
!y = tensor<?x64xf16, #dist.value<dims = [s, 64]>>
func.func @main(%x: !x {onnx.name = "x"}) -> (!y {onnx.name = "y"}) {
  %w = onnx.Weight {file = "m.onnx", length = 8192 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x64xf16>
  %y = onnx.MatMul %x, %w : (!x, tensor<64x64xf16>) -> !y
  return %y : !y
}
