// Keys and values that are repeated for groups of queries, the keys before or
// behind their Transpose; a single head that broadcasts.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

// CHECK-LABEL: func.func @before(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {{.*}} : (tensor<2x4x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @before(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %k1 = onnx.Reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %k2 = onnx.Expand %k1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k3 = onnx.Reshape %k2 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %kt = onnx.Transpose %k3 {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %v1 = onnx.Reshape %v : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %v2 = onnx.Expand %v1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %v3 = onnx.Reshape %v2 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %qk {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v3 : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// CHECK-LABEL: func.func @behind(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {{.*}} : (tensor<2x4x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @behind(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %k1 = onnx.Reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %k2 = onnx.Expand %k1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k3 = onnx.Transpose %k2 {perm = array<i64: 0, 1, 2, 4, 3>} : (tensor<2x2x2x5x8xf32>) -> tensor<2x2x2x8x5xf32>
  %kt = onnx.Reshape %k3 : (tensor<2x2x2x8x5xf32>) -> tensor<2x4x8x5xf32>
  %v1 = onnx.Reshape %v : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %v2 = onnx.Expand %v1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %v3 = onnx.Reshape %v2 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %qk {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v3 : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// CHECK-LABEL: func.func @one(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {{.*}} : (tensor<2x4x3x8xf32>, tensor<2x1x5x8xf32>, tensor<2x1x5x8xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @one(%q: tensor<2x4x3x8xf32>, %k: tensor<2x1x5x8xf32>, %v: tensor<2x1x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x1x5x8xf32>) -> tensor<2x1x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x1x8x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %qk {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x1x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Only the keys are repeated: both stay as they are.
// CHECK-LABEL: func.func @keys(
// CHECK: onnx.Attention %arg0, %{{.*}}, %arg2 {{.*}} : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @keys(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %k1 = onnx.Reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %k2 = onnx.Expand %k1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k3 = onnx.Reshape %k2 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %kt = onnx.Transpose %k3 {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x8x5xf32>
  %qk = onnx.MatMul %q, %kt : (tensor<2x4x3x8xf32>, tensor<2x4x8x5xf32>) -> tensor<2x4x3x5xf32>
  %weights = onnx.Softmax %qk {axis = 3 : i64} : (tensor<2x4x3x5xf32>) -> tensor<2x4x3x5xf32>
  %y = onnx.MatMul %weights, %v : (tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Merged by positions, as keys without heads are passed to MultiHeadAttention.
// CHECK-LABEL: func.func @transposed(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 : (tensor<2x4x3x8xf32>, tensor<2x2x5x8xf32>, tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32>
// CHECK-NEXT: return
func.func @transposed(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>, %v: tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %k1 = onnx.Reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %k2 = onnx.Expand %k1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k3 = onnx.Transpose %k2 {perm = array<i64: 0, 3, 1, 2, 4>} : (tensor<2x2x2x5x8xf32>) -> tensor<2x5x2x2x8xf32>
  %k4 = onnx.Reshape %k3 : (tensor<2x5x2x2x8xf32>) -> tensor<2x5x4x8xf32>
  %k5 = onnx.Transpose %k4 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf32>) -> tensor<2x4x5x8xf32>
  %v1 = onnx.Reshape %v : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %v2 = onnx.Expand %v1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %v3 = onnx.Reshape %v2 : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %y = onnx.Attention %q, %k5, %v3 : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Heads that are tiled, not repeated: 0 1 0 1.
// CHECK-LABEL: func.func @tiled(
// CHECK: onnx.Attention %arg0, %[[k:.*]], %[[k]] : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>)
func.func @tiled(%q: tensor<2x4x3x8xf32>, %k: tensor<2x2x5x8xf32>) -> tensor<2x4x3x8xf32> {
  %k1 = onnx.Reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x5x8xf32>
  %k2 = onnx.Expand %k1 : (tensor<2x2x1x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %k3 = onnx.Transpose %k2 {perm = array<i64: 0, 3, 2, 1, 4>} : (tensor<2x2x2x5x8xf32>) -> tensor<2x5x2x2x8xf32>
  %k4 = onnx.Reshape %k3 : (tensor<2x5x2x2x8xf32>) -> tensor<2x5x4x8xf32>
  %k5 = onnx.Transpose %k4 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf32>) -> tensor<2x4x5x8xf32>
  %y = onnx.Attention %q, %k5, %k5 : (tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
