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
func.func @main(%x: tensor<2x4x8xf32>, %w: tensor<8x24xf32>, %m: tensor<7xi32>) -> (!u) {
  %n = onnx.None : () -> none
  // expected-error @below {{has a mask of 7 numbers, expected 2, 4 or 8}}
  %y = onnx.microsoft.Attention %x, %w, %n, %m {num_heads = 2 : i64} : (tensor<2x4x8xf32>, tensor<8x24xf32>, none, tensor<7xi32>) -> !u
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
  // expected-error @below {{has sliding_window_cache and a local_window_size of -1, expected one above 0}}
  %y = onnx.microsoft.GroupQueryAttention %x, %x, %x, %p, %p, %n {num_heads = 2 : i64, kv_num_heads = 2 : i64, sliding_window_cache = 1 : i64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2xi32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x1x8xf32>, %p: tensor<2x2x4x4xf32>, %n: tensor<2xi32>, %t: tensor<i32>, %b: tensor<1x1x1x9xf32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @below {{has sliding_window_cache, but not both past_key and past_value}}
  %y = onnx.microsoft.GroupQueryAttention %x, %x, %x, %none, %none, %n, %t {num_heads = 2 : i64, kv_num_heads = 2 : i64, sliding_window_cache = 1 : i64, local_window_size = 4 : i64} : (tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x1x8xf32>, none, none, tensor<2xi32>, tensor<i32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x1x8xf32>, %p: tensor<2x2x4x4xf32>, %n: tensor<2xi32>, %t: tensor<i32>, %b: tensor<1x1x1x9xf32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @below {{has attention_bias, which is not supported: export with windowed_kv_cache=false}}
  %y = onnx.microsoft.GroupQueryAttention %x, %x, %x, %p, %p, %n, %t, %none, %none, %none, %b {num_heads = 2 : i64, kv_num_heads = 2 : i64, sliding_window_cache = 1 : i64, local_window_size = 4 : i64} : (tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2xi32>, tensor<i32>, none, none, none, tensor<1x1x1x9xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x1x8xf32>, %p: tensor<2x2x4x4xf32>, %n: tensor<2xi32>, %t: tensor<i32>, %b: tensor<1x1x1x9xf32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @below {{GroupQueryAttention: a cache of 4 with sliding_window_cache and a window of 5}}
  %y = onnx.microsoft.GroupQueryAttention %x, %x, %x, %p, %p, %n, %t {num_heads = 2 : i64, kv_num_heads = 2 : i64, sliding_window_cache = 1 : i64, local_window_size = 5 : i64} : (tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x1x8xf32>, tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>, tensor<2xi32>, tensor<i32>) -> !u
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
func.func @main(%q: tensor<2x4x16xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>, %n: tensor<2xi32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @below {{GroupQueryAttention: dim 3 of heads of the key}}
  %y = onnx.microsoft.GroupQueryAttention %q, %k, %v, %none, %none, %n {num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<2x4x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, none, none, tensor<2xi32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x16xf32>, %n: tensor<2xi32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @below {{GroupQueryAttention: dim 3 of heads of the value}}
  %y = onnx.microsoft.GroupQueryAttention %q, %k, %v, %none, %none, %n {num_heads = 2 : i64, kv_num_heads = 2 : i64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x16xf32>, none, none, tensor<2xi32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x8xf32>, %p: tensor<1xi64>, %c: tensor<16x2xf32>) -> (!u) {
  // expected-error @below {{has a scale other than 1, which is not supported}}
  %y = onnx.microsoft.RotaryEmbedding %x, %p, %c, %c {scale = 2.0 : f32} : (tensor<2x4x8xf32>, tensor<1xi64>, tensor<16x2xf32>, tensor<16x2xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<4x32xf32>, %w: tensor<8x1x16xui8>, %s: tensor<8x1xf32>) -> (!u) {
  // expected-error @below {{has weights in a layout of one device, which is not supported: export without matmulnbits_weights_prepacked}}
  %y = onnx.microsoft.MatMulNBits %x, %w, %s {K = 32 : i64, N = 8 : i64, block_size = 32 : i64, weight_prepacked = 1 : i64} : (tensor<4x32xf32>, tensor<8x1x16xui8>, tensor<8x1xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<4x32xf32>, %w: tensor<8x1x16xui8>, %s: tensor<8x1xf32>) -> (!u) {
  // expected-error @below {{has quantised weights of type 'tensor<8x1x16xui8>', expected an initializer of 128 bytes}}
  %y = onnx.microsoft.MatMulNBits %x, %w, %s {K = 32 : i64, N = 8 : i64, block_size = 32 : i64} : (tensor<4x32xf32>, tensor<8x1x16xui8>, tensor<8x1xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<4x32xf32>, %w: tensor<8x1x32xui8>, %s: tensor<8x1xf32>, %g: tensor<32xi32>) -> (!u) {
  %n = onnx.None : () -> none
  // expected-error @below {{has g_idx, which is not supported: quantise without reordering features (act_order, desc_act)}}
  %y = onnx.microsoft.MatMulNBits %x, %w, %s, %n, %g {K = 32 : i64, N = 8 : i64, bits = 8 : i64, block_size = 32 : i64} : (tensor<4x32xf32>, tensor<8x1x32xui8>, tensor<8x1xf32>, none, tensor<32xi32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<4x32xf32>, %r: tensor<4x8xf32>, %w1: tensor<8x64x32xf32>, %w2: tensor<8x32x64xf32>) -> (!u) {
  %n = onnx.None : () -> none
  // expected-error @below {{has activation softmax, which is not supported: export without fused experts}}
  %y = onnx.microsoft.MoE %x, %r, %w1, %n, %w2 {activation_type = "softmax"} : (tensor<4x32xf32>, tensor<4x8xf32>, tensor<8x64x32xf32>, none, tensor<8x32x64xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> (!u) {
  // expected-error @below {{has 4 operands behind the result's, expected value, scale and zero point of each part}}
  %y = onnx.microsoft.QLinearConcat %s, %z, %x, %s, %z, %x {axis = 1 : i64} : (tensor<f32>, tensor<ui8>, tensor<2x4xui8>, tensor<f32>, tensor<ui8>, tensor<2x4xui8>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<1x2x6x6xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> (!u) {
  // expected-error @below {{has a kernel_shape, strides or dilations below 1}}
  %y = onnx.microsoft.QLinearAveragePool %x, %s, %z, %s, %z {kernel_shape = array<i64: 3, 3>, strides = array<i64: 0, 0>, pads = array<i64: 0, 0, 5, 5>, ceil_mode = 1 : i64} : (tensor<1x2x6x6xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
!x = tensor<1x2x?x6xui8, #dist.value<dims = [1, 2, h, 6]>>
func.func @main(%x: !x, %s: tensor<f32>, %z: tensor<ui8>) -> (!u) {
  // expected-error @below {{has ceil_mode and windows that may begin behind an image of size h; export with fixed sizes, or without ceil_mode}}
  %y = onnx.microsoft.QLinearAveragePool %x, %s, %z, %s, %z {kernel_shape = array<i64: 2, 2>, strides = array<i64: 3, 3>, ceil_mode = 1 : i64} : (!x, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<1x2x6x6xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> (!u) {
  // expected-error @below {{has auto_pad OTHER, expected NOTSET, VALID, SAME_UPPER or SAME_LOWER}}
  %y = onnx.microsoft.QLinearAveragePool %x, %s, %z, %s, %z {kernel_shape = array<i64: 3, 3>, auto_pad = "OTHER", ceil_mode = 1 : i64} : (tensor<1x2x6x6xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> !u
  return %y : !u
}
