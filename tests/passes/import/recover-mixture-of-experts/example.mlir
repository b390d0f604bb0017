// Mixtral: the experts of each choice are gathered.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[MIXTURE:.*]] = onnx.MixtureOfExperts %arg0, %arg1, %arg2, %arg3, %arg4 {gate = "halves"} : (tensor<3x8xf32>, tensor<3x2xi64>, tensor<3x2xf32>, tensor<4x8x10xf32>, tensor<4x5x8xf32>) -> tensor<3x8xf32>
// CHECK-NEXT: return %[[MIXTURE]]
func.func @main(%x: tensor<3x8xf32>, %indices: tensor<3x2xi64>, %weights: tensor<3x2xf32>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x8xf32>) -> tensor<3x8xf32> {
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
  %result = onnx.ReduceSum %all {axes = array<i64: 1>, keepdims = 0 : i64} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}
