// Pools, rows and masks that do not fit each other.
// RUN: shard-opt %s --split-input-file --verify-diagnostics --shardc-infer-shapes

!u = tensor<*x!onnx.unknown>
func.func @main(%pool: tensor<3x2x16x8xf32>, %added: tensor<1x2x5x8xf32>, %slots: tensor<5xi64>, %copies: tensor<0x2xi64>) -> (!u) {
  // expected-error @+1 {{has axis 0, expected 1 to 3}}
  %y = onnx.PageWrite %pool, %added, %slots, %copies {axis = 0 : i64} : (tensor<3x2x16x8xf32>, tensor<1x2x5x8xf32>, tensor<5xi64>, tensor<0x2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%pool: tensor<3x2x16x8xf32>, %added: tensor<1x2x5x8xf32>, %slots: tensor<4xi64>, %copies: tensor<0x2xi64>) -> (!u) {
  // expected-error @+1 {{PageWrite: numbers of entries 4 and 5 differ}}
  %y = onnx.PageWrite %pool, %added, %slots, %copies {axis = 2 : i64} : (tensor<3x2x16x8xf32>, tensor<1x2x5x8xf32>, tensor<4xi64>, tensor<0x2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%q: tensor<1x3x5x8xf32>, %pool: tensor<3x2x16x8xf32>, %pages: tensor<2x4xi64>, %past: tensor<2xi64>, %first: tensor<3xi64>) -> (!u) {
  // expected-error @+1 {{has 3 query heads, expected a multiple of the 2 key and value heads}}
  %y = onnx.PagedAttention %q, %pool, %pool, %pages, %past, %first {scale = 1.0 : f32} : (tensor<1x3x5x8xf32>, tensor<3x2x16x8xf32>, tensor<3x2x16x8xf32>, tensor<2x4xi64>, tensor<2xi64>, tensor<3xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%q: tensor<1x4x5x8xf32>, %pool: tensor<3x2x16x8xf32>, %pages: tensor<2x4xi64>, %past: tensor<2xi64>, %first: tensor<2xi64>) -> (!u) {
  // expected-error @+1 {{PagedAttention: numbers of rows 2 and 3 differ}}
  %y = onnx.PagedAttention %q, %pool, %pool, %pages, %past, %first {scale = 1.0 : f32} : (tensor<1x4x5x8xf32>, tensor<3x2x16x8xf32>, tensor<3x2x16x8xf32>, tensor<2x4xi64>, tensor<2xi64>, tensor<2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%q: tensor<1x4x5x8xf32>, %pool: tensor<3x2x16x8xf32>, %pages: tensor<2x4xi64>, %past: tensor<2xi64>, %first: tensor<3xi64>, %mask: tensor<1x1x4x64xi1>) -> (!u) {
  // expected-error @+1 {{has a mask that fits neither the queries nor the rows, and the keys that their pages have room for}}
  %y = onnx.PagedAttention %q, %pool, %pool, %pages, %past, %first, %mask {scale = 1.0 : f32} : (tensor<1x4x5x8xf32>, tensor<3x2x16x8xf32>, tensor<3x2x16x8xf32>, tensor<2x4xi64>, tensor<2xi64>, tensor<3xi64>, tensor<1x1x4x64xi1>) -> !u
  return %y : !u
}
