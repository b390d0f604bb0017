!x = tensor<?x64xf16, #dist.value<dims = [s, 64]>>
!y = tensor<?x64xf16, #dist.value<dims = [s, 64]>>
func.func @main(%x: !x {onnx.name = "x"}) -> (!y {onnx.name = "y"}) {
  %w = onnx.Weight {file = "m.onnx", length = 8192 : i64, name = "w", offset = 0 : i64} : () -> tensor<64x64xf16>
  %y = onnx.MatMul %x, %w : (!x, tensor<64x64xf16>) -> !y
  return %y : !y
}
