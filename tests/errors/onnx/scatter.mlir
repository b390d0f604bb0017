// Updates of another rank than data and indices ask for.
// RUN: shard-opt %s -split-input-file -verify-diagnostics --shardc-infer-shapes

!u = tensor<*x!onnx.unknown>

func.func @rows(%x: tensor<4x3xf32>, %i: tensor<2x1xi64>, %v: tensor<1x2x3xf32>) -> (!u) {
  // expected-error@+1 {{'onnx.ScatterND' op has updates of 3 dims, expected 2}}
  %y = onnx.ScatterND %x, %i, %v {reduction = "none"} : (tensor<4x3xf32>, tensor<2x1xi64>, tensor<1x2x3xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @elements(%x: tensor<4x3xf32>, %i: tensor<1x3xi64>, %v: tensor<3xf32>) -> (!u) {
  // expected-error@+1 {{'onnx.ScatterElements' op has updates of 1 dims, expected 2}}
  %y = onnx.ScatterElements %x, %i, %v {axis = 0 : i64, reduction = "none"} : (tensor<4x3xf32>, tensor<1x3xi64>, tensor<3xf32>) -> !u
  return %y : !u
}
