// Masks are composed in their order, not summed: what two of them hide is no
// lower than what one of them hides.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

!q = tensor<2x4x5x8xf32>
!kt = tensor<2x4x8x5xf32>
!s = tensor<2x4x5x5xf32>
!c = tensor<2x1x5x5xi1>
!m = tensor<2x1x5x5xf32>
!f = tensor<f32>
!i = tensor<5xi64>

// CHECK-LABEL: func.func @finite_fills(
// CHECK: %[[FIRST:.*]] = onnx.Where %arg3, %{{.*}}, %{{.*}}
// CHECK: %[[BOTH:.*]] = onnx.Where %arg4, %[[FIRST]], %{{.*}}
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[BOTH]] {scale
func.func @finite_fills(%q: !q, %k: !q, %v: !q, %c1: !c, %c2: !c) -> !q {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !f} : () -> !f
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %once = onnx.Where %c1, %qk, %low : (!c, !s, !f) -> !s
  %twice = onnx.Where %c2, %once, %low : (!c, !s, !f) -> !s
  %weights = onnx.Softmax %twice {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !q) -> !q
  return %y : !q
}

// The mask that was added may be as low as what is filled in.
// CHECK-LABEL: func.func @fill_behind_mask(
// CHECK: %[[MASK:.*]] = onnx.Where %arg4, %{{.*}}, %arg3
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[MASK]] {scale
func.func @fill_behind_mask(%q: !q, %k: !q, %v: !q, %m: !m, %hidden: !c) -> !q {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !f} : () -> !f
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %once = onnx.Add %qk, %m : (!s, !m) -> !s
  %twice = onnx.Where %hidden, %low, %once : (!c, !f, !s) -> !s
  %weights = onnx.Softmax %twice {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !q) -> !q
  return %y : !q
}

// Added once more, the number is twice as low where both hide.
// CHECK-LABEL: func.func @finite_sums(
// CHECK-NOT: is_causal = 1
// CHECK: %[[SUM:.*]] = onnx.Add
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[SUM]] {scale
func.func @finite_sums(%q: !q, %k: !q, %v: !q, %c1: !c, %c2: !c) -> !q {
  %zero = onnx.Constant {value = dense<0.0> : !f} : () -> !f
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !f} : () -> !f
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %m1 = onnx.Where %c1, %zero, %low : (!c, !f, !f) -> !m
  %m2 = onnx.Where %c2, %zero, %low : (!c, !f, !f) -> !m
  %once = onnx.Add %qk, %m1 : (!s, !m) -> !s
  %twice = onnx.Add %once, %m2 : (!s, !m) -> !s
  %weights = onnx.Softmax %twice {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !q) -> !q
  return %y : !q
}

// CHECK-LABEL: func.func @infinite(
// CHECK: %[[BOTH:.*]] = onnx.And %arg3, %arg4
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[BOTH]] {scale
func.func @infinite(%q: !q, %k: !q, %v: !q, %c1: !c, %c2: !c) -> !q {
  %zero = onnx.Constant {value = dense<0.0> : !f} : () -> !f
  %low = onnx.Constant {value = dense<0xFF800000> : !f} : () -> !f
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %once = onnx.Where %c1, %qk, %low : (!c, !s, !f) -> !s
  %mask = onnx.Where %c2, %zero, %low : (!c, !f, !f) -> !m
  %twice = onnx.Add %once, %mask : (!s, !m) -> !s
  %weights = onnx.Softmax %twice {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !q) -> !q
  return %y : !q
}

// Each query sees its own key through both.
// CHECK-LABEL: func.func @causal_window(
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2 {is_causal = 1 : i64, scale = 1.000000e+00 : f32, window = 3 : i64
func.func @causal_window(%q: !q, %k: !q, %v: !q) -> !q {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !f} : () -> !f
  %three = onnx.Constant {value = dense<3> : tensor<i64>} : () -> tensor<i64>
  %row = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !i
  %col = onnx.Reshape %row : (!i) -> tensor<5x1xi64>
  %past = onnx.LessOrEqual %row, %col : (!i, tensor<5x1xi64>) -> tensor<5x5xi1>
  %first = onnx.Sub %col, %three : (tensor<5x1xi64>, tensor<i64>) -> tensor<5x1xi64>
  %near = onnx.Greater %row, %first : (!i, tensor<5x1xi64>) -> tensor<5x5xi1>
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %once = onnx.Where %past, %qk, %low : (tensor<5x5xi1>, !s, !f) -> !s
  %twice = onnx.Where %near, %once, %low : (tensor<5x5xi1>, !s, !f) -> !s
  %weights = onnx.Softmax %twice {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !q) -> !q
  return %y : !q
}

// No score is below the lowest number, however many masks hide it.
// CHECK-LABEL: func.func @floored(
// CHECK: %[[SUM:.*]] = onnx.Add %arg3, %arg4
// CHECK: %[[MASK:.*]] = onnx.Max %[[SUM]], %{{.*}}
// CHECK-NEXT: onnx.Attention %arg0, %arg1, %arg2, %[[MASK]] {scale
func.func @floored(%q: !q, %k: !q, %v: !q, %a: !m, %b: !m) -> !q {
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !f} : () -> !f
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!q) -> !kt
  %qk = onnx.MatMul %q, %kt : (!q, !kt) -> !s
  %once = onnx.Add %qk, %a : (!s, !m) -> !s
  %twice = onnx.Add %once, %b : (!s, !m) -> !s
  %floored = onnx.Max %twice, %low : (!s, !f) -> !s
  %weights = onnx.Softmax %floored {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !q) -> !q
  return %y : !q
}
