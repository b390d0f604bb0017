// PyTorch's exporters: the root of the scale on both operands, NaN becomes 0;
// OPT: on the queries alone; ViT: a division of the scores.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @both(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {scale = 2.500000e-01 : f32, zero_rows = "nan"}
// CHECK-NEXT: return
func.func @both(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %root = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qs = onnx.Mul %q, %root : (tensor<2x4x3x8xf32>, tensor<f32>) -> tensor<2x4x3x8xf32>
  %ks = onnx.Mul %kt, %root : (tensor<2x4x8x5xf32>, tensor<f32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %qs, %ks : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %qk {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %isNaN = onnx.IsNaN %weights : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xi1>
  %safe = onnx.Where %isNaN, %zero, %weights : (tensor<2x4x3x5xi1>, tensor<f32>, tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %safe, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// CHECK-LABEL: func.func @queries(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {scale = 2.500000e-01 : f32, zero_rows = "none"}
// CHECK-NEXT: return
func.func @queries(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qs = onnx.Mul %scale, %q : (tensor<f32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %qk = onnx.MatMul %qs, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %qk {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// CHECK-LABEL: func.func @quotient(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {scale = 2.500000e-01 : f32, zero_rows = "none"}
// CHECK-NEXT: return
func.func @quotient(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %root = onnx.Constant {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Div %qk, %root : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %scaled {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Behind the mask, as GPT-J and CodeGen divide: the mask is divided, too.
// CHECK-LABEL: func.func @behind_the_mask(
// CHECK: %[[MASK:.*]] = onnx.Mul %arg3, %{{.*}} : (tensor<3x5xf32>, tensor<f32>)
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[MASK]] {scale = 2.500000e-01 : f32, zero_rows = "none"}
func.func @behind_the_mask(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %mask: tensor<3x5xf32>) -> tensor<2x4x3x8xf32> {
  %root = onnx.Constant {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %masked = onnx.Add %qk, %mask : (tensor<2x4x3x5xf32>, tensor<3x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Div %masked, %root : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %scaled {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// A low number of a mask may become an infinity.
// CHECK-LABEL: func.func @times_four(
// CHECK-NOT: onnx.Attention
func.func @times_four(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %mask: tensor<3x5xf32>) -> tensor<2x4x3x8xf32> {
  %four = onnx.Constant {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %masked = onnx.Add %qk, %mask : (tensor<2x4x3x5xf32>, tensor<3x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %masked, %four : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %scaled {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// A floor below which no score is adds no mask, and what stands behind it is the
// scale alone.
// CHECK-LABEL: func.func @behind_a_floor(
// CHECK: onnx.Attention %arg0, %arg1, %arg2 {scale = 2.500000e-01 : f32, zero_rows = "none"}
func.func @behind_a_floor(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %root = onnx.Constant {value = dense<4.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %floored = onnx.Max %qk, %low : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Div %floored, %root : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %scaled {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
