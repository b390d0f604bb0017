!x = tensor<?x64xf32, #dist.value<dims = [s, 64]>>
!y = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
func.func @main(%x: !x {onnx.name = "x"}) -> (!y {onnx.name = "y"}) {
  %w = onnx.Weight {file = "m.onnx", length = 256 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x4xi8>
  %s = onnx.Weight {file = "m.onnx", length = 4 : i64, name = "s", offset = 256 : i64} : () -> tensor<1x1xf32>
  %n = onnx.DequantizeLinear %w, %s {axis = 0 : i64} : (tensor<64x4xi8>, tensor<1x1xf32>) -> tensor<64x4xf32>
  %y = onnx.MatMul %x, %n : (!x, tensor<64x4xf32>) -> !y
  return %y : !y
}
