// gpt-oss: pair by pair, with tables of each angle once; the parts of a head by
// Slice. Values that are no parts of one are concatenated first (DeepSeek).
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s

// CHECK-LABEL: func.func @halves(
// CHECK: onnx.RotaryEmbedding %arg0, %{{.*}}, %{{.*}} :
// CHECK-NEXT: return
func.func @halves(%x: tensor<2x4x3x8xf32>, %cos: tensor<1x1x3x4xf32>, %sin: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %a = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %b = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 4]>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %ac = onnx.Mul %a, %cos : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %bs = onnx.Mul %b, %sin : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %left = onnx.Sub %ac, %bs : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %bc = onnx.Mul %cos, %b : (tensor<1x1x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %as = onnx.Mul %a, %sin : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %right = onnx.Add %bc, %as : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %y = onnx.Concat %left, %right {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// CHECK-LABEL: func.func @others(
// CHECK: %[[INPUT:.*]] = onnx.Concat %{{.*}}, %{{.*}} {axis = 3 : i64}
// CHECK-NEXT: onnx.RotaryEmbedding %[[INPUT]], %{{.*}}, %{{.*}} :
// CHECK-NEXT: return
func.func @others(%x: tensor<2x4x3x8xf32>, %cos: tensor<1x1x3x4xf32>, %sin: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %a = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 2>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %b = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 1]>, steps = array<i64: 1, 1, 1, 2>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %ac = onnx.Mul %a, %cos : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %bs = onnx.Mul %b, %sin : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %left = onnx.Sub %ac, %bs : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %bc = onnx.Mul %cos, %b : (tensor<1x1x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %as = onnx.Mul %a, %sin : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %right = onnx.Add %bc, %as : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %y = onnx.Concat %left, %right {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
