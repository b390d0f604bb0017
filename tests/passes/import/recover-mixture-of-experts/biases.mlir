// gpt-oss: gates beside what they gate, both clipped; biases of each expert.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[MIXTURE:.*]] = onnx.MixtureOfExperts %arg0, %arg1, %arg2, %arg3, %arg4, %arg5 {alpha = 1.702000e+00 : f32, gate = "interleaved", limit = 7.000000e+00 : f32, shift = 1.000000e+00 : f32}
// CHECK: %[[BIASES:.*]] = onnx.Gather %arg6, %arg1
// CHECK: %[[WEIGHTED:.*]] = onnx.Mul %[[BIASES]]
// CHECK: %[[BIAS:.*]] = onnx.ReduceSum %[[WEIGHTED]]
// CHECK: onnx.Add %[[MIXTURE]], %[[BIAS]]
func.func @main(%x: tensor<3x8xf32>, %indices: tensor<3x2xi64>, %weights: tensor<3x2xf32>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x8xf32>, %upBias: tensor<4x10xf32>, %downBias: tensor<4x8xf32>) -> tensor<3x8xf32> {
  %x1 = onnx.Reshape %x : (tensor<3x8xf32>) -> tensor<3x1x8xf32>
  %x2 = onnx.Expand %x1 : (tensor<3x1x8xf32>) -> tensor<3x2x8xf32>
  %chosen = onnx.Reshape %indices : (tensor<3x2xi64>) -> tensor<6x1xi64>
  %rows = onnx.Reshape %x2 : (tensor<3x2x8xf32>) -> tensor<6x1x8xf32>
  %ups = onnx.GatherND %up, %chosen : (tensor<4x8x10xf32>, tensor<6x1xi64>) -> tensor<6x8x10xf32>
  %h1 = onnx.MatMul %rows, %ups : (tensor<6x1x8xf32>, tensor<6x8x10xf32>) -> tensor<6x1x10xf32>
  %h = onnx.Reshape %h1 : (tensor<6x1x10xf32>) -> tensor<6x10xf32>
  %ub = onnx.GatherND %upBias, %chosen : (tensor<4x10xf32>, tensor<6x1xi64>) -> tensor<6x10xf32>
  %hb = onnx.Add %h, %ub : (tensor<6x10xf32>, tensor<6x10xf32>) -> tensor<6x10xf32>
  %g0 = onnx.Slice %hb {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 2>} : (tensor<6x10xf32>) -> tensor<6x5xf32>
  %u0 = onnx.Slice %hb {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 2>} : (tensor<6x10xf32>) -> tensor<6x5xf32>
  %none = onnx.None : () -> none
  %seven = onnx.Constant {value = dense<7.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<-7.0> : tensor<f32>} : () -> tensor<f32>
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %g1 = onnx.Clip %g0, %none, %seven : (tensor<6x5xf32>, none, tensor<f32>) -> tensor<6x5xf32>
  %u1 = onnx.Clip %u0, %low, %seven : (tensor<6x5xf32>, tensor<f32>, tensor<f32>) -> tensor<6x5xf32>
  %g2 = onnx.Swish %g1 {alpha = 1.702 : f32} : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %u2 = onnx.Add %u1, %one : (tensor<6x5xf32>, tensor<f32>) -> tensor<6x5xf32>
  %a = onnx.Mul %u2, %g2 : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %a1 = onnx.Reshape %a : (tensor<6x5xf32>) -> tensor<6x1x5xf32>
  %downs = onnx.GatherND %down, %chosen : (tensor<4x5x8xf32>, tensor<6x1xi64>) -> tensor<6x5x8xf32>
  %y1 = onnx.MatMul %a1, %downs : (tensor<6x1x5xf32>, tensor<6x5x8xf32>) -> tensor<6x1x8xf32>
  %y = onnx.Reshape %y1 : (tensor<6x1x8xf32>) -> tensor<6x8xf32>
  %db = onnx.GatherND %downBias, %chosen : (tensor<4x8xf32>, tensor<6x1xi64>) -> tensor<6x8xf32>
  %yb = onnx.Add %y, %db : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %w = onnx.Reshape %weights : (tensor<3x2xf32>) -> tensor<6x1xf32>
  %yw = onnx.Mul %yb, %w : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %all = onnx.Reshape %yw : (tensor<6x8xf32>) -> tensor<3x2x8xf32>
  %result = onnx.ReduceSum %all {axes = array<i64: 1>, keepdims = 0 : i64} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}
