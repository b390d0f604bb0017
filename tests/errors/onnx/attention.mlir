// A mask broadcasts to the scores, and has no dim that they have not.
// RUN: shard-opt %s --shardc-infer-shapes --split-input-file --verify-diagnostics

!u = tensor<*x!onnx.unknown>
!q = tensor<1x2x3x4xf32>

func.func @dims(%q: !q, %m: tensor<1x1x1x3x3xf32>) -> (!u) {
  // expected-error @+1 {{has a mask of 5 dims, expected at most 4}}
  %y = onnx.Attention %q, %q, %q, %m {scale = 0.5 : f32} : (!q, !q, !q, tensor<1x1x1x3x3xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
!q = tensor<1x2x3x4xf32>

func.func @batch(%q: !q, %m: tensor<5x1x3x3xi1>) -> (!u) {
  // expected-error @+1 {{Attention: sizes 1 and 5 do not broadcast}}
  %y = onnx.Attention %q, %q, %q, %m {scale = 0.5 : f32} : (!q, !q, !q, tensor<5x1x3x3xi1>) -> !u
  return %y : !u
}
