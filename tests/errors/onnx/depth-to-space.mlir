// RUN: shard-opt %s --split-input-file --verify-diagnostics --shardc-infer-shapes

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<1x6x2x2xf32>) -> (!u) {
  // expected-error @below {{has 6 channels, expected a multiple of 4, which its blocksize asks for}}
  %y = onnx.DepthToSpace %x {blocksize = 2 : i64} : (tensor<1x6x2x2xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<1x6x2x3xf32>) -> (!u) {
  // expected-error @below {{has 3 columns, expected a multiple of 2, which its blocksize asks for}}
  %y = onnx.SpaceToDepth %x {blocksize = 2 : i64} : (tensor<1x6x2x3xf32>) -> !u
  return %y : !u
}
