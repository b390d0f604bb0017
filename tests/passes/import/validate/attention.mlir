// Attention as it is spelt, and ops that are the same or nearly so.
// RUN: shard-opt %s --shardc-test-validate -o /dev/null | FileCheck %s

!q = tensor<?x4x?x64xf32, #dist.value<dims = [b, 4, seq, 64]>>
!k = tensor<?x4x?x64xf32, #dist.value<dims = [b, 4, past + seq, 64]>>
!t = tensor<?x4x64x?xf32, #dist.value<dims = [b, 4, 64, past + seq]>>
!s = tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, seq, past + seq]>>
!m = tensor<?x?xf32, #dist.value<dims = [seq, past + seq]>>
!c = tensor<?x?xi1, #dist.value<dims = [seq, past + seq]>>
!n = tensor<f32>

// CHECK: masked: same
func.func @masked(%q: !q, %k: !k, %v: !k, %mask: !m) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Add %qk, %mask : (!s, !m) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v, %mask {scale = 1.0 : f32, zero_rows = "none"} : (!q, !k, !k, !m) -> !q
  return %y, %z : !q, !q
}

// NaN as it is spelt; the op by itself makes zeros of rows that see nothing.
// CHECK-NEXT: rows_that_see_nothing: different
func.func @rows_that_see_nothing(%q: !q, %k: !k, %v: !k, %mask: !m) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Add %qk, %mask : (!s, !m) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v, %mask {scale = 1.0 : f32} : (!q, !k, !k, !m) -> !q
  return %y, %z : !q, !q
}

// CHECK-NEXT: another_scale: different
func.func @another_scale(%q: !q, %k: !k, %v: !k, %mask: !m) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Add %qk, %mask : (!s, !m) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v, %mask {scale = 1.001 : f32, zero_rows = "none"} : (!q, !k, !k, !m) -> !q
  return %y, %z : !q, !q
}

// CHECK-NEXT: cap: same
func.func @cap(%q: !q, %k: !k, %v: !k) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %d = onnx.Div %qk, %cap : (!s, !n) -> !s
  %th = onnx.Tanh %d : (!s) -> !s
  %capped = onnx.Mul %th, %cap : (!s, !n) -> !s
  %weights = onnx.Softmax %capped {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v {scale = 1.0 : f32, softcap = 5.0 : f32, zero_rows = "none"} : (!q, !k, !k) -> !q
  return %y, %z : !q, !q
}

// The cap is of the mask, not of the scores.
// CHECK-NEXT: cap_of_the_mask: different
func.func @cap_of_the_mask(%q: !q, %k: !k, %v: !k, %mask: !m) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %d = onnx.Div %mask, %cap : (!m, !n) -> !m
  %th = onnx.Tanh %d : (!m) -> !m
  %capped = onnx.Mul %th, %cap : (!m, !n) -> !m
  %masked = onnx.Add %capped, %qk : (!m, !s) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v, %mask {scale = 1.0 : f32, softcap = 5.0 : f32, zero_rows = "none"} : (!q, !k, !k, !m) -> !q
  return %y, %z : !q, !q
}

// A row that is hidden as a whole is the mean of all values.
// CHECK-NEXT: fill: same
func.func @fill(%q: !q, %k: !k, %v: !k, %c: !c) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Where %c, %qk, %low : (!c, !s, !n) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %added = onnx.Where %c, %zero, %low : (!c, !n, !n) -> !m
  %z = onnx.Attention %q, %k, %v, %added {scale = 1.0 : f32, zero_rows = "none"} : (!q, !k, !k, !m) -> !q
  return %y, %z : !q, !q
}

// CHECK-NEXT: fill_by_infinity: different
func.func @fill_by_infinity(%q: !q, %k: !k, %v: !k, %c: !c) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %masked = onnx.Where %c, %qk, %low : (!c, !s, !n) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v, %c {scale = 1.0 : f32, zero_rows = "none"} : (!q, !k, !k, !c) -> !q
  return %y, %z : !q, !q
}

// What both hide is hidden twice as much by a sum.
// CHECK-NEXT: two_fills: different
func.func @two_fills(%q: !q, %k: !k, %v: !k, %c: !c, %d: !c) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %once = onnx.Where %c, %qk, %low : (!c, !s, !n) -> !s
  %twice = onnx.Where %d, %once, %low : (!c, !s, !n) -> !s
  %weights = onnx.Softmax %twice {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %one = onnx.Where %c, %zero, %low : (!c, !n, !n) -> !m
  %two = onnx.Where %d, %zero, %low : (!c, !n, !n) -> !m
  %sum = onnx.Add %one, %two : (!m, !m) -> !m
  %z = onnx.Attention %q, %k, %v, %sum {scale = 1.0 : f32, zero_rows = "none"} : (!q, !k, !k, !m) -> !q
  return %y, %z : !q, !q
}

// CHECK-NEXT: causal: same
func.func @causal(%q: !q, %k: !k, %v: !k) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %queries = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %column = onnx.Reshape %queries : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<?x1xi64, #dist.value<dims = [seq, 1]>>
  %c = onnx.LessOrEqual %keys, %column : (tensor<?xi64, #dist.value<dims = [past + seq]>>, tensor<?x1xi64, #dist.value<dims = [seq, 1]>>) -> !c
  %masked = onnx.Where %c, %qk, %never : (!c, !s, !n) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v {scale = 1.0 : f32, is_causal = 1, causal_offset = #dist.dims<[past]>, zero_rows = "none"} : (!q, !k, !k) -> !q
  return %y, %z : !q, !q
}

// CHECK-NEXT: causal_without_past: different with b = 3, seq = 2, past = 5
func.func @causal_without_past(%q: !q, %k: !k, %v: !k) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %queries = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %column = onnx.Reshape %queries : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<?x1xi64, #dist.value<dims = [seq, 1]>>
  %c = onnx.LessOrEqual %keys, %column : (tensor<?xi64, #dist.value<dims = [past + seq]>>, tensor<?x1xi64, #dist.value<dims = [seq, 1]>>) -> !c
  %masked = onnx.Where %c, %qk, %never : (!c, !s, !n) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v {scale = 1.0 : f32, is_causal = 1, zero_rows = "none"} : (!q, !k, !k) -> !q
  return %y, %z : !q, !q
}

// CHECK-NEXT: window: same
func.func @window(%q: !q, %k: !k, %v: !k) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %queries = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %column = onnx.Reshape %queries : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<?x1xi64, #dist.value<dims = [seq, 1]>>
  %c = onnx.LessOrEqual %keys, %column : (tensor<?xi64, #dist.value<dims = [past + seq]>>, tensor<?x1xi64, #dist.value<dims = [seq, 1]>>) -> !c
  %wide = onnx.Constant {value = dense<4096> : tensor<i64>} : () -> tensor<i64>
  %first = onnx.Sub %column, %wide : (tensor<?x1xi64, #dist.value<dims = [seq, 1]>>, tensor<i64>) -> tensor<?x1xi64, #dist.value<dims = [seq, 1]>>
  %near = onnx.Greater %keys, %first : (tensor<?xi64, #dist.value<dims = [past + seq]>>, tensor<?x1xi64, #dist.value<dims = [seq, 1]>>) -> !c
  %both = onnx.And %c, %near : (!c, !c) -> !c
  %masked = onnx.Where %both, %qk, %never : (!c, !s, !n) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v {scale = 1.0 : f32, is_causal = 1, causal_offset = #dist.dims<[past]>, window = 4096, zero_rows = "none"} : (!q, !k, !k) -> !q
  return %y, %z : !q, !q
}

// Sizes, and the window with them, are scaled so that both keep their order.
// CHECK-NEXT: another_window: different
func.func @another_window(%q: !q, %k: !k, %v: !k) -> (!q, !q) {
  %cap = onnx.Constant {value = dense<5.0> : !n} : () -> !n
  %low = onnx.Constant {value = dense<-3.40282347E+38> : !n} : () -> !n
  %never = onnx.Constant {value = dense<0xFF800000> : !n} : () -> !n
  %zero = onnx.Constant {value = dense<0.0> : !n} : () -> !n
  %kt = onnx.Transpose %k {perm = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %qk = onnx.MatMul %q, %kt : (!q, !t) -> !s
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + seq]>>
  %queries = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
  %column = onnx.Reshape %queries : (tensor<?xi64, #dist.value<dims = [seq]>>) -> tensor<?x1xi64, #dist.value<dims = [seq, 1]>>
  %c = onnx.LessOrEqual %keys, %column : (tensor<?xi64, #dist.value<dims = [past + seq]>>, tensor<?x1xi64, #dist.value<dims = [seq, 1]>>) -> !c
  %wide = onnx.Constant {value = dense<4096> : tensor<i64>} : () -> tensor<i64>
  %first = onnx.Sub %column, %wide : (tensor<?x1xi64, #dist.value<dims = [seq, 1]>>, tensor<i64>) -> tensor<?x1xi64, #dist.value<dims = [seq, 1]>>
  %near = onnx.Greater %keys, %first : (tensor<?xi64, #dist.value<dims = [past + seq]>>, tensor<?x1xi64, #dist.value<dims = [seq, 1]>>) -> !c
  %both = onnx.And %c, %near : (!c, !c) -> !c
  %masked = onnx.Where %both, %qk, %never : (!c, !s, !n) -> !s
  %weights = onnx.Softmax %masked {axis = 3 : i64} : (!s) -> !s
  %y = onnx.MatMul %weights, %v : (!s, !k) -> !q
  %z = onnx.Attention %q, %k, %v {scale = 1.0 : f32, is_causal = 1, causal_offset = #dist.dims<[past]>, window = 4095, zero_rows = "none"} : (!q, !k, !k) -> !q
  return %y, %z : !q, !q
}
