// RUN: shard-opt %s --split-input-file --verify-diagnostics --shardc-infer-shapes

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<96x64xi8>, %s: tensor<3x32xf32>) -> (!u) {
  // expected-error @below {{DequantizeLinear: 32 scales for 64 indices: expected equal to 64, found 32}}
  %y = onnx.DequantizeLinear %x, %s {axis = 0 : i64, block_size = 32 : i64} : (tensor<96x64xi8>, tensor<3x32xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<96x64xi8>, %s: tensor<4x64xf32>) -> (!u) {
  // expected-error @below {{DequantizeLinear: 4 scales for 3 blocks: expected equal to 3, found 4}}
  %y = onnx.DequantizeLinear %x, %s {axis = 0 : i64, block_size = 32 : i64} : (tensor<96x64xi8>, tensor<4x64xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<96x64xf32>, %s: tensor<96x64xf32>) -> (!u) {
  // expected-error @below {{to 'f16', which is not supported: quantise to integers}}
  %y = onnx.QuantizeLinear %x, %s {output_dtype = 10 : i64} : (tensor<96x64xf32>, tensor<96x64xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%a: tensor<4x8xi8>, %b: tensor<8x6xi8>, %z: tensor<8x6xi8>) -> (!u) {
  %n = onnx.None : () -> none
  // expected-error @below {{has a zero point of 'tensor<8x6xi8>', expected one for each column of B}}
  %y = onnx.MatMulInteger %a, %b, %n, %z : (tensor<4x8xi8>, tensor<8x6xi8>, none, tensor<8x6xi8>) -> !u
  return %y : !u
}

// -----

// One scale for all blocks is no scale of each.
!u = tensor<*xf32>
func.func @main(%x: tensor<96x64xi8>, %s: tensor<1x64xf32>) -> !u {
  // expected-error @below {{DequantizeLinear: 1 scales for 3 blocks: expected equal to 3, found 1}}
  %y = onnx.DequantizeLinear %x, %s {axis = 0 : i64, block_size = 32 : i64} : (tensor<96x64xi8>, tensor<1x64xf32>) -> !u
  return %y : !u
}
