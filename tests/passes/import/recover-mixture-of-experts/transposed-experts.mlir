// Matrices in front of a column; one choice by a plain Gather.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: %[[UP:.*]] = onnx.Transpose %arg3 {perm = array<i64: 0, 2, 1>}
// CHECK-NEXT: %[[DOWN:.*]] = onnx.Transpose %arg4 {perm = array<i64: 0, 2, 1>}
// CHECK-NEXT: onnx.MixtureOfExperts %arg0, %arg1, %arg2, %[[UP]], %[[DOWN]] {gate = "halves"}
// CHECK-NEXT: return
func.func @main(%x: tensor<3x8xf32>, %indices: tensor<3x2xi64>, %weights: tensor<3x2xf32>, %up: tensor<4x10x8xf32>, %down: tensor<4x8x5xf32>) -> tensor<3x8xf32> {
  %x1 = onnx.Reshape %x : (tensor<3x8xf32>) -> tensor<3x1x8xf32>
  %x2 = onnx.Expand %x1 : (tensor<3x1x8xf32>) -> tensor<3x2x8xf32>
  %chosen = onnx.Reshape %indices : (tensor<3x2xi64>) -> tensor<6xi64>
  %rows = onnx.Reshape %x2 : (tensor<3x2x8xf32>) -> tensor<6x8x1xf32>
  %ups = onnx.Gather %up, %chosen : (tensor<4x10x8xf32>, tensor<6xi64>) -> tensor<6x10x8xf32>
  %h1 = onnx.MatMul %ups, %rows : (tensor<6x10x8xf32>, tensor<6x8x1xf32>) -> tensor<6x10x1xf32>
  %h = onnx.Reshape %h1 : (tensor<6x10x1xf32>) -> tensor<6x10xf32>
  %gu:2 = onnx.Split %h {axis = 1 : i64} : (tensor<6x10xf32>) -> (tensor<6x5xf32>, tensor<6x5xf32>)
  %g = onnx.Swish %gu#0 : (tensor<6x5xf32>) -> tensor<6x5xf32>
  %a = onnx.Mul %g, %gu#1 : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %a1 = onnx.Reshape %a : (tensor<6x5xf32>) -> tensor<6x5x1xf32>
  %downs = onnx.Gather %down, %chosen : (tensor<4x8x5xf32>, tensor<6xi64>) -> tensor<6x8x5xf32>
  %y1 = onnx.MatMul %downs, %a1 : (tensor<6x8x5xf32>, tensor<6x5x1xf32>) -> tensor<6x8x1xf32>
  %y = onnx.Reshape %y1 : (tensor<6x8x1xf32>) -> tensor<6x8xf32>
  %w = onnx.Reshape %weights : (tensor<3x2xf32>) -> tensor<6x1xf32>
  %yw = onnx.Mul %y, %w : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %all = onnx.Reshape %yw : (tensor<6x8xf32>) -> tensor<3x2x8xf32>
  %result = onnx.ReduceSum %all {axes = array<i64: 1>, keepdims = 0 : i64} : (tensor<3x2x8xf32>) -> tensor<3x8xf32>
  return %result : tensor<3x8xf32>
}
