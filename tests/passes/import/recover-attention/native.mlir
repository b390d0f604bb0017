// An attention of the model's own: heads that are repeated for it, and a mask that
// compares positions.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @heads(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {scale = 2.500000e-01 : f32} : (tensor<2x4x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @heads(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %k1 = onnx.Reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %k2 = onnx.Expand %k1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k3 = onnx.Reshape %k2 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %v1 = onnx.Reshape %v : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %v2 = onnx.Expand %v1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %v3 = onnx.Reshape %v2 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %y = onnx.Attention %q, %k3, %v3 {scale = 2.500000e-01 : f32} : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Query i is at position 2 + i, and sees keys up to there that are not padding.
// CHECK-LABEL: func.func @mask(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %arg3 {causal_offset = #dist.dims<[2]>, is_causal = 1 : i64}
// CHECK-NEXT: return
func.func @mask(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %padding: tensor<2x1x1x5xi1>) -> tensor<2x4x3x8xf32> {
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<5xi64>
  %queries = onnx.Range {bounds = #dist.dims<[2, 1]>} : () -> tensor<3xi64>
  %column = onnx.Reshape %queries : (tensor<3xi64>) -> tensor<1x1x3x1xi64>
  %row = onnx.Reshape %keys : (tensor<5xi64>) -> tensor<1x1x1x5xi64>
  %causal = onnx.LessOrEqual %row, %column : (tensor<1x1x1x5xi64>, tensor<1x1x3x1xi64>) -> tensor<1x1x3x5xi1>
  %shown = onnx.And %causal, %padding : (tensor<1x1x3x5xi1>, tensor<2x1x1x5xi1>) -> tensor<2x1x3x5xi1>
  %y = onnx.Attention %q, %k, %v, %shown : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x1x3x5xi1>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// What is added stays, and so does a mask of an attention that is causal anyway.
// CHECK-LABEL: func.func @bias(
// CHECK-NEXT: %[[first:.*]] = onnx.Attention %arg0, %arg1, %arg2, %arg3 :
// CHECK-NEXT: onnx.Attention %[[first]], %arg1, %arg2, %arg4 {is_causal = 1 : i64}
// CHECK-NEXT: return
func.func @bias(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x3x8xf32>, %v: tensor<2x4x3x8xf32>, %bias: tensor<4x3x3xf32>, %mask: tensor<3x3xi1>) -> tensor<2x4x3x8xf32> {
  %x = onnx.Attention %q, %k, %v, %bias : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<4x3x3xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Attention %x, %k, %v, %mask {is_causal = 1 : i64} : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<3x3xi1>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Only one of the two is repeated: both stay.
// CHECK-LABEL: func.func @keys(
// CHECK: onnx.Attention %arg0, %{{.*}}, %arg2 : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>)
func.func @keys(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %k1 = onnx.Reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %k2 = onnx.Expand %k1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k3 = onnx.Reshape %k2 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %y = onnx.Attention %q, %k3, %v : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
