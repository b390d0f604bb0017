// Almost mixtures of experts.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s
// CHECK-NOT: onnx.MixtureOfExperts

// The second product is of other experts' matrices than the first.
func.func @others(%x: tensor<3x8xf32>, %indices: tensor<3x2xi64>, %weights: tensor<3x2xf32>, %more: tensor<3x2xi64>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x8xf32>) -> tensor<3x8xf32> {
  %x1 = onnx.Reshape %x : (tensor<3x8xf32>) -> tensor<3x1x8xf32>
  %x2 = onnx.Expand %x1 : (tensor<3x1x8xf32>) -> tensor<3x2x8xf32>
  %chosen = onnx.Reshape %indices : (tensor<3x2xi64>) -> tensor<6x1xi64>
  %again = onnx.Reshape %more : (tensor<3x2xi64>) -> tensor<6x1xi64>
  %rows = onnx.Reshape %x2 : (tensor<3x2x8xf32>) -> tensor<6x1x8xf32>
  %ups = onnx.GatherND %up, %chosen : (tensor<4x8x10xf32>, tensor<6x1xi64>) -> tensor<6x8x10xf32>
  %h1 = onnx.MatMul %rows, %ups : (tensor<6x1x8xf32>, tensor<6x8x10xf32>) -> tensor<6x1x10xf32>
  %h = onnx.Reshape %h1 : (tensor<6x1x10xf32>) -> tensor<6x10xf32>
  %gu:2 = onnx.Split %h {axis = 1 : i64} : (tensor<6x10xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>)
  %g = onnx.Swish %gu#0 : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %a = onnx.Mul %g, %gu#1 : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %a1 = onnx.Reshape %a : (tensor<6x5xf32>) -> tensor<6x1x5xf32>
  %downs = onnx.GatherND %down, %again : (tensor<4x5x8xf32>, tensor<6x1xi64>) -> tensor<6x5x8xf32>
  %y1 = onnx.MatMul %a1, %downs : (tensor<6x1x5xf32>, tensor<6x5x8xf32>) -> tensor<6x1x8xf32>
  %y = onnx.Reshape %y1 : (tensor<6x1x8xf32>) -> tensor<6x8xf32>
  %w = onnx.Reshape %weights : (tensor<3x2xf32>) -> tensor<6x1xf32>
  %yw = onnx.Mul %y, %w : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %all = onnx.Reshape %yw : (tensor<6x8xf32>) -> tensor<3x2x8xf32>
  %result = onnx.ReduceSum %all {axes = array<i64: 1>, keepdims = 0 : i64} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}

// The gate is of another value.
func.func @gates(%x: tensor<3x8xf32>, %indices: tensor<3x2xi64>, %weights: tensor<3x2xf32>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x8xf32>, %z: tensor<6x5xf32>) -> tensor<3x8xf32> {
  %x1 = onnx.Reshape %x : (tensor<3x8xf32>) -> tensor<3x1x8xf32>
  %x2 = onnx.Expand %x1 : (tensor<3x1x8xf32>) -> tensor<3x2x8xf32>
  %chosen = onnx.Reshape %indices : (tensor<3x2xi64>) -> tensor<6x1xi64>
  %rows = onnx.Reshape %x2 : (tensor<3x2x8xf32>) -> tensor<6x1x8xf32>
  %ups = onnx.GatherND %up, %chosen : (tensor<4x8x10xf32>, tensor<6x1xi64>) -> tensor<6x8x10xf32>
  %h1 = onnx.MatMul %rows, %ups : (tensor<6x1x8xf32>, tensor<6x8x10xf32>) -> tensor<6x1x10xf32>
  %h = onnx.Reshape %h1 : (tensor<6x1x10xf32>) -> tensor<6x10xf32>
  %gu:2 = onnx.Split %h {axis = 1 : i64} : (tensor<6x10xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>)
  %g = onnx.Swish %gu#0 : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %a = onnx.Mul %g, %z : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %a1 = onnx.Reshape %a : (tensor<6x5xf32>) -> tensor<6x1x5xf32>
  %downs = onnx.GatherND %down, %chosen : (tensor<4x5x8xf32>, tensor<6x1xi64>) -> tensor<6x5x8xf32>
  %y1 = onnx.MatMul %a1, %downs : (tensor<6x1x5xf32>, tensor<6x5x8xf32>) -> tensor<6x1x8xf32>
  %y = onnx.Reshape %y1 : (tensor<6x1x8xf32>) -> tensor<6x8xf32>
  %w = onnx.Reshape %weights : (tensor<3x2xf32>) -> tensor<6x1xf32>
  %yw = onnx.Mul %y, %w : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %all = onnx.Reshape %yw : (tensor<6x8xf32>) -> tensor<3x2x8xf32>
  %result = onnx.ReduceSum %all {axes = array<i64: 1>, keepdims = 0 : i64} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}

// The sum is over the tokens.
func.func @tokens(%x: tensor<3x8xf32>, %indices: tensor<3x2xi64>, %weights: tensor<3x2xf32>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x8xf32>) -> tensor<2x8xf32> {
  %x1 = onnx.Reshape %x : (tensor<3x8xf32>) -> tensor<3x1x8xf32>
  %x2 = onnx.Expand %x1 : (tensor<3x1x8xf32>) -> tensor<3x2x8xf32>
  %chosen = onnx.Reshape %indices : (tensor<3x2xi64>) -> tensor<6x1xi64>
  %rows = onnx.Reshape %x2 : (tensor<3x2x8xf32>) -> tensor<6x1x8xf32>
  %ups = onnx.GatherND %up, %chosen : (tensor<4x8x10xf32>, tensor<6x1xi64>) -> tensor<6x8x10xf32>
  %h1 = onnx.MatMul %rows, %ups : (tensor<6x1x8xf32>, tensor<6x8x10xf32>) -> tensor<6x1x10xf32>
  %h = onnx.Reshape %h1 : (tensor<6x1x10xf32>) -> tensor<6x10xf32>
  %gu:2 = onnx.Split %h {axis = 1 : i64} : (tensor<6x10xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>)
  %g = onnx.Swish %gu#0 : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %a = onnx.Mul %g, %gu#1 : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %a1 = onnx.Reshape %a : (tensor<6x5xf32>) -> tensor<6x1x5xf32>
  %downs = onnx.GatherND %down, %chosen : (tensor<4x5x8xf32>, tensor<6x1xi64>) -> tensor<6x5x8xf32>
  %y1 = onnx.MatMul %a1, %downs : (tensor<6x1x5xf32>, tensor<6x5x8xf32>) -> tensor<6x1x8xf32>
  %y = onnx.Reshape %y1 : (tensor<6x1x8xf32>) -> tensor<6x8xf32>
  %w = onnx.Reshape %weights : (tensor<3x2xf32>) -> tensor<6x1xf32>
  %yw = onnx.Mul %y, %w : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %all = onnx.Reshape %yw : (tensor<6x8xf32>) -> tensor<3x2x8xf32>
  %result = onnx.ReduceSum %all {axes = array<i64: 0>, keepdims = 0 : i64} : (tensor<3x2x8xf32>) -> tensor<2x8xf32>
  return %result : tensor<2x8xf32>
}

// Other weights than 0 where nothing was chosen.
func.func @ones(%x: tensor<3x8xf32>, %logits: tensor<3x4xf32>, %weights: tensor<3x2xf32>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x8xf32>) -> tensor<3x8xf32> {
  %zero = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %values, %top = onnx.TopK %logits {axis = 1 : i64} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  %z = onnx.Expand %zero : (tensor<f32>) -> tensor<3x4xf32>
  %r = onnx.ScatterElements %z, %top, %weights {axis = 1 : i64} : (tensor<3x4xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %x1 = onnx.Tile %x : (tensor<3x8xf32>) -> tensor<12x8xf32>
  %x2 = onnx.Reshape %x1 : (tensor<12x8xf32>) -> tensor<4x3x8xf32>
  %h0 = onnx.MatMul %x2, %up : (tensor<4x3x8xf32>, tensor<4x8x10xf32>) -> tensor<4x3x10xf32>
  %gu:2 = onnx.Split %h0 {axis = 2 : i64} : (tensor<4x3x10xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x5xf32>)
  %g = onnx.Gelu %gu#0 : (tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  %a = onnx.Mul %g, %gu#1 : (tensor<4x3x5xf32>, tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  %y = onnx.MatMul %a, %down : (tensor<4x3x5xf32>, tensor<4x5x8xf32>) -> tensor<4x3x8xf32>
  %rt = onnx.Transpose %r {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %r1 = onnx.Reshape %rt : (tensor<4x3xf32>) -> tensor<4x3x1xf32>
  %yw = onnx.Mul %y, %r1 : (tensor<4x3x8xf32>, tensor<4x3x1xf32>) -> tensor<4x3x8xf32>
  %result = onnx.ReduceSum %yw {axes = array<i64: 0>, keepdims = 0 : i64} : (tensor<4x3x8xf32>) -> tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}

// Choices that may be there twice.
func.func @twice(%x: tensor<3x8xf32>, %logits: tensor<3x4xf32>, %weights: tensor<3x2xf32>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x8xf32>, %indices: tensor<3x2xi64>) -> tensor<3x8xf32> {
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %values, %top = onnx.TopK %logits {axis = 1 : i64} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  %z = onnx.Expand %zero : (tensor<f32>) -> tensor<3x4xf32>
  %r = onnx.ScatterElements %z, %indices, %weights {axis = 1 : i64} : (tensor<3x4xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %x1 = onnx.Tile %x : (tensor<3x8xf32>) -> tensor<12x8xf32>
  %x2 = onnx.Reshape %x1 : (tensor<12x8xf32>) -> tensor<4x3x8xf32>
  %h0 = onnx.MatMul %x2, %up : (tensor<4x3x8xf32>, tensor<4x8x10xf32>) -> tensor<4x3x10xf32>
  %gu:2 = onnx.Split %h0 {axis = 2 : i64} : (tensor<4x3x10xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x5xf32>)
  %g = onnx.Gelu %gu#0 : (tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  %a = onnx.Mul %g, %gu#1 : (tensor<4x3x5xf32>, tensor<4x3x5xf32>) -> tensor<4x3x5xf32>
  %y = onnx.MatMul %a, %down : (tensor<4x3x5xf32>, tensor<4x5x8xf32>) -> tensor<4x3x8xf32>
  %rt = onnx.Transpose %r {perm = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %r1 = onnx.Reshape %rt : (tensor<4x3xf32>) -> tensor<4x3x1xf32>
  %yw = onnx.Mul %y, %r1 : (tensor<4x3x8xf32>, tensor<4x3x1xf32>) -> tensor<4x3x8xf32>
  %result = onnx.ReduceSum %yw {axes = array<i64: 0>, keepdims = 0 : i64} : (tensor<4x3x8xf32>) -> tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}
