// A scale that is no small fraction gives no size of a symbolic dim, whose number the error says.
// RUN: shard-opt %s --shardc-infer-shapes --split-input-file --verify-diagnostics

!u = tensor<*x!onnx.unknown>

func.func @height(%x: tensor<1x1x?x2xf32, #dist.value<dims = [1, 1, height, 2]>>) -> (!u) {
  %n = onnx.None : () -> none
  %s = onnx.Constant {value = dense<[1.0, 1.0, 1.41421354, 2.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  // expected-error @+1 {{resizes dim 2 of 'tensor<1x1x?x2xf32, #dist.value<dims = [1, 1, height, 2]>>', expected sizes above 0, that scales of small fractions give: export with a constant image size}}
  %y = onnx.Resize %x, %n, %s {mode = "linear"} : (tensor<1x1x?x2xf32, #dist.value<dims = [1, 1, height, 2]>>, none, tensor<4xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @moreThanANumber(%x: tensor<1x1x4611686018427387904xf32>) -> (!u) {
  %scales = onnx.Constant {value = dense<[1.0, 1.0, 3.0]> : tensor<3xf32>} : () -> tensor<3xf32>
  %none = onnx.None : () -> none
  // expected-error@+1 {{'onnx.Resize' op resizes dim 2 of 'tensor<1x1x4611686018427387904xf32>'}}
  %y = onnx.Resize %x, %none, %scales : (tensor<1x1x4611686018427387904xf32>, none, tensor<3xf32>) -> !u
  return %y : !u
}
