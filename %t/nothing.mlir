!x = tensor<?x64xf32, #dist.value<dims = [s, 64]>>
func.func @main(%x: !x {onnx.name = "x"}) -> (!x {onnx.name = "y"}) {
  %y = onnx.Add %x, %x : (!x, !x) -> !x
  return %y : !x
}
