// What these operators cannot be replaced with is refused, with a remedy.
// RUN: shard-opt %s --split-input-file --verify-diagnostics --shardc-infer-shapes

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x8xf32>, %w: tensor<8xf32>) -> (!u, !u) {
  // expected-error @below {{has a use of its output mean, which is not supported: export the model for inference}}
  %y, %mean = onnx.microsoft.SkipLayerNormalization %x, %x, %w : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<8xf32>) -> (!u, !u)
  return %y, %mean : !u, !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x8xf32>, %w: tensor<8x24xf32>, %m: tensor<8xi32>) -> (!u) {
  %n = onnx.None : () -> none
  // expected-error @below {{has a mask of type 'tensor<8xi64>', expected dims [batch, keys], [batch, queries, keys], [batch] or [2 * batch]}}
  %y = onnx.microsoft.Attention %x, %w, %n, %m {num_heads = 2 : i64} : (tensor<2x4x8xf32>, tensor<8x24xf32>, none, tensor<8xi32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x9xf32>, %w: tensor<9x25xf32>) -> (!u) {
  // expected-error @below {{has weights for 25 columns, expected a multiple of 3}}
  %y = onnx.microsoft.Attention %x, %w {num_heads = 2 : i64} : (tensor<2x4x9xf32>, tensor<9x25xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x8xf32>) -> (!u) {
  // expected-error @below {{has a query of 3 dims, but not both key and value}}
  %y = onnx.microsoft.MultiHeadAttention %x {num_heads = 2 : i64} : (tensor<2x4x8xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x8xf32>) -> (!u) {
  // expected-error @below {{has 3 heads, which do not divide 8}}
  %y = onnx.microsoft.MultiHeadAttention %x, %x, %x {num_heads = 3 : i64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x8xf32>, %p: tensor<2x2x4x4xf32>, %n: tensor<2xi32>) -> (!u) {
  // expected-error @below {{has sliding_window_cache, which is not supported: export with windowed_kv_cache=false}}
  %y = onnx.microsoft.GroupQueryAttention %x, %x, %x, %p, %p, %n {num_heads = 2 : i64, kv_num_heads = 2 : i64, sliding_window_cache = 1 : i64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2xi32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x8xf32>, %n: tensor<2xi32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @below {{has a packed query of 8 columns, expected those of 6 heads}}
  %y = onnx.microsoft.GroupQueryAttention %x, %none, %none, %none, %none, %n {num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<2x4x8xf32>, none, none, none, none, tensor<2xi32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x8xf32>, %p: tensor<1xi64>, %c: tensor<16x2xf32>) -> (!u) {
  // expected-error @below {{has a scale other than 1, which is not supported}}
  %y = onnx.microsoft.RotaryEmbedding %x, %p, %c, %c {scale = 2.0 : f32} : (tensor<2x4x8xf32>, tensor<1xi64>, tensor<16x2xf32>, tensor<16x2xf32>) -> !u
  return %y : !u
}
