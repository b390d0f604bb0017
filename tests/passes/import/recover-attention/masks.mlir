// What hides by -inf is a condition; of two equal masks one is left.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @added(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %arg3 {{.*}}, tensor<2x1x3x5xi1>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @added(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %shown: tensor<2x1x3x5xi1>) -> tensor<2x4x3x8xf32> {
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %mask = onnx.Where %shown, %zero, %low : (tensor<2x1x3x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x3x5xf32>
  %masked = onnx.Add %scaled, %mask : (tensor<2x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// CHECK-LABEL: func.func @chosen(
// CHECK-NEXT: %[[SHOWN:.*]] = onnx.Not %arg3
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[SHOWN]] {{.*}}, tensor<2x1x3x5xi1>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @chosen(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %hidden: tensor<2x1x3x5xi1>) -> tensor<2x4x3x8xf32> {
  %low = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %masked = onnx.Where %hidden, %low, %scaled : (tensor<2x1x3x5xi1>, tensor<f32>, tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// A finite number leaves rows that are hidden as a whole to each other's mean:
// it stays a number.
// CHECK-LABEL: func.func @layers(
// CHECK: %[[MASK:.*]] = onnx.Where %arg3
// CHECK-NEXT: %[[FIRST:.*]] = onnx.Attention %arg0, %arg1, %arg2, %[[MASK]] {{.*}}, tensor<2x1x3x5xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: %[[SECOND:.*]] = onnx.Attention %[[FIRST]], %arg1, %arg2, %[[MASK]]
// CHECK-NEXT: return
func.func @layers(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %shown: tensor<2x1x3x5xi1>) -> tensor<2x4x3x8xf32> {
  %zero1 = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low1 = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %scale1 = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt1 = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk1 = onnx.MatMul %q, %kt1 : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled1 = onnx.Mul %qk1, %scale1 : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %mask1 = onnx.Where %shown, %zero1, %low1 : (tensor<2x1x3x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x3x5xf32>
  %masked1 = onnx.Add %scaled1, %mask1 : (tensor<2x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %weights1 = onnx.Softmax %masked1 {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y1 = onnx.MatMul %weights1, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  %zero2 = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %low2 = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %scale2 = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt2 = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk2 = onnx.MatMul %y1, %kt2 : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled2 = onnx.Mul %qk2, %scale2 : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %mask2 = onnx.Where %shown, %zero2, %low2 : (tensor<2x1x3x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x3x5xf32>
  %masked2 = onnx.Add %scaled2, %mask2 : (tensor<2x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %weights2 = onnx.Softmax %masked2 {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y2 = onnx.MatMul %weights2, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y2 : tensor<2x4x3x8xf32>
}

// GPT-2 before there was an op: a buffer of zeros and ones, and padding.
// CHECK-LABEL: func.func @two(
// CHECK: %[[CAUSAL:.*]] = onnx.Where %arg3, %{{.*}}, %{{.*}} : (tensor<2x1x3x5xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x3x5xf32>
// CHECK-NEXT: %[[SUM:.*]] = onnx.Add %[[CAUSAL]], %arg4
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[SUM]] {{.*}}, tensor<2x1x3x5xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @two(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %v: tensor<2x4x5x8xf32>, %shown: tensor<2x1x3x5xi1>, %mask: tensor<2x1x3x5xf32>) -> tensor<2x4x3x8xf32> {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %scaled = onnx.Mul %qk, %scale : (tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %past = onnx.Where %shown, %scaled, %low : (tensor<2x1x3x5xi1>, tensor<2x4x3x5xf32>, tensor<f32>) -> tensor<2x4x3x5xf32>
  %masked = onnx.Add %past, %mask : (tensor<2x4x3x5xf32>, tensor<2x1x3x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
