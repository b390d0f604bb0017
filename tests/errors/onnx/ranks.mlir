// Operands of more or fewer dims, or elements, than their op can have.
// RUN: shard-opt %s -split-input-file -verify-diagnostics --shardc-infer-shapes

!u = tensor<*x!onnx.unknown>

func.func @biasOfALstm(%x: tensor<5x1x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>, %b: tensor<32xf32>) -> (!u) {
  // expected-error@+1 {{'onnx.LSTM' op has operand 3 of 'tensor<32xf32>', expected 2 dims}}
  %y = onnx.LSTM %x, %w, %r, %b {hidden_size = 4 : i64} : (tensor<5x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, tensor<32xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @window(%x: tensor<1x16x1xf32>) -> (!u) {
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  // expected-error@+1 {{'onnx.STFT' op has operand 2 of 'tensor<i64>', expected 1 dim}}
  %y = onnx.STFT %x, %one, %one : (tensor<1x16x1xf32>, tensor<i64>, tensor<i64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @image(%x: tensor<4x4xf32>) -> (!u) {
  // expected-error@+1 {{'onnx.MaxPool' op has operand 0 of 'tensor<4x4xf32>', expected 3 or more dims}}
  %y = onnx.MaxPool %x {kernel_shape = array<i64: 2>} : (tensor<4x4xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @values(%q: tensor<2x4x72xf32>, %k: tensor<2x6x24xf32>, %v: tensor<2x6xf32>) -> (!u) {
  // expected-error@+1 {{'onnx.Attention' op has operand 2 of 'tensor<2x6xf32>', expected 3 or 4 dims}}
  %y = onnx.Attention %q, %k, %v {q_num_heads = 9 : i64, kv_num_heads = 3 : i64} : (tensor<2x4x72xf32>, tensor<2x6x24xf32>, tensor<2x6xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @keys(%q: tensor<2x4x72xf32>, %k: tensor<2x3x6x8xf32>) -> (!u) {
  // expected-error@+1 {{'onnx.Attention' op has a query of 3 dims, and keys or values of 4}}
  %y = onnx.Attention %q, %k, %k {q_num_heads = 9 : i64, kv_num_heads = 3 : i64} : (tensor<2x4x72xf32>, tensor<2x3x6x8xf32>, tensor<2x3x6x8xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @noElement(%x: tensor<3x4xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %training = onnx.Constant {value = dense<[]> : tensor<0xi1>} : () -> tensor<0xi1>
  // expected-error@+1 {{'onnx.Dropout' op has operand 2 of 'tensor<0xi1>', expected a single element}}
  %y = onnx.Dropout %x, %none, %training : (tensor<3x4xf32>, none, tensor<0xi1>) -> !u
  return %y : !u
}

// -----

// What an op assumes of a known operand's size does not hold: the elements that it
// has not are not read.
!u = tensor<*x!onnx.unknown>

func.func @scale(%x: tensor<1x2x1x3xf32>, %bias: tensor<2xf32>) -> (!u) {
  %scale = onnx.Constant {value = dense<[]> : tensor<0xf32>} : () -> tensor<0xf32>
  // expected-error@+1 {{InstanceNormalization: elements of an operand: expected equal to 2, found 0}}
  %y = onnx.InstanceNormalization %x, %scale, %bias : (tensor<1x2x1x3xf32>, tensor<0xf32>, tensor<2xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @lengths(%x: tensor<4x4xf32>) -> (!u) {
  %lengths = onnx.Constant {value = dense<[4, 3]> : tensor<2xi64>} : () -> tensor<2xi64>
  // expected-error@+1 {{ReverseSequence: sizes of an operand: expected equal to 4, found 2}}
  %y = onnx.ReverseSequence %x, %lengths {batch_axis = 1 : i64, time_axis = 0 : i64} : (tensor<4x4xf32>, tensor<2xi64>) -> !u
  return %y : !u
}
