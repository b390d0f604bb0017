// Nearly the same, which DequantizeLinear would not compute or a product not read.
// RUN: shard-opt %s --shardc-recover-weights | FileCheck %s --implicit-check-not=DequantizeLinear

// A zero point that is no integer, and one that the type does not hold.
// CHECK-LABEL: func.func @zero_points(
func.func @zero_points(%x: tensor<2x16xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 64 : i64, name = "q", offset = 0 : i64} : () -> tensor<16x4xi8>
  %p = onnx.Weight {file = "w", length = 16 : i64, name = "p", offset = 64 : i64} : () -> tensor<4x4xi8>
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %more = onnx.Constant {value = dense<128.0> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Cast %q : (tensor<16x4xi8>) -> tensor<16x4xf32>
  %2 = onnx.Sub %1, %half : (tensor<16x4xf32>, tensor<f32>) -> tensor<16x4xf32>
  %3 = onnx.MatMul %x, %2 : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
  %4 = onnx.Cast %p : (tensor<4x4xi8>) -> tensor<4x4xf32>
  %5 = onnx.Sub %4, %more : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %y = onnx.MatMul %3, %5 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// A difference the other way round, one behind the scale, two scales.
// CHECK-LABEL: func.func @other_arithmetic(
func.func @other_arithmetic(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 16 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x4xui8>
  %s = onnx.Weight {file = "w", length = 16 : i64, name = "s", offset = 64 : i64} : () -> tensor<4x1xf32>
  %two = onnx.Constant {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %1 = onnx.Cast %q : (tensor<4x4xui8>) -> tensor<4x4xf32>
  %2 = onnx.Sub %two, %1 : (tensor<f32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = onnx.MatMul %x, %2 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %4 = onnx.Mul %1, %s : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %5 = onnx.Sub %4, %two : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %6 = onnx.MatMul %3, %5 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %7 = onnx.Mul %4, %s : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %y = onnx.MatMul %6, %7 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// Scales that a request brings, integers that it brings, and wide integers.
// CHECK-LABEL: func.func @not_stored(
func.func @not_stored(%x: tensor<2x4xf32>, %s: tensor<4x1xf32>, %r: tensor<4x4xi8>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 16 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x4xi8>
  %p = onnx.Weight {file = "w", length = 32 : i64, name = "p", offset = 64 : i64} : () -> tensor<4x4xi16>
  %1 = onnx.Cast %r : (tensor<4x4xi8>) -> tensor<4x4xf32>
  %2 = onnx.MatMul %x, %1 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %3 = onnx.Cast %p : (tensor<4x4xi16>) -> tensor<4x4xf32>
  %y = onnx.MatMul %2, %3 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// Scales, and zero points, that change along the dim that is summed, blocks that end
// within a word, and a mask of what is scaled.
// CHECK-LABEL: func.func @along_the_sum(
func.func @along_the_sum(%x: tensor<2x12xf32>) -> tensor<2x12xf32> {
  %q = onnx.Weight {file = "w", length = 144 : i64, name = "q", offset = 0 : i64} : () -> tensor<12x12xi8>
  %p = onnx.Weight {file = "w", length = 144 : i64, name = "p", offset = 144 : i64} : () -> tensor<2x6x12xi8>
  %s = onnx.Weight {file = "w", length = 48 : i64, name = "s", offset = 288 : i64} : () -> tensor<12x1xf32>
  %z = onnx.Weight {file = "w", length = 12 : i64, name = "z", offset = 336 : i64} : () -> tensor<12x1xi8>
  %b = onnx.Weight {file = "w", length = 96 : i64, name = "b", offset = 352 : i64} : () -> tensor<2x1x12xf32>
  %w = onnx.Weight {file = "w", length = 576 : i64, name = "w", offset = 448 : i64} : () -> tensor<12x12xf32>
  %1 = onnx.Cast %q : (tensor<12x12xi8>) -> tensor<12x12xf32>
  %2 = onnx.Mul %1, %s : (tensor<12x12xf32>, tensor<12x1xf32>) -> tensor<12x12xf32>
  %3 = onnx.MatMul %x, %2 : (tensor<2x12xf32>, tensor<12x12xf32>) -> tensor<2x12xf32>
  %4 = onnx.Cast %z : (tensor<12x1xi8>) -> tensor<12x1xf32>
  %5 = onnx.Sub %1, %4 : (tensor<12x12xf32>, tensor<12x1xf32>) -> tensor<12x12xf32>
  %6 = onnx.MatMul %3, %5 : (tensor<2x12xf32>, tensor<12x12xf32>) -> tensor<2x12xf32>
  %7 = onnx.Cast %p : (tensor<2x6x12xi8>) -> tensor<2x6x12xf32>
  %8 = onnx.Mul %7, %b : (tensor<2x6x12xf32>, tensor<2x1x12xf32>) -> tensor<2x6x12xf32>
  %9 = onnx.Reshape %8 : (tensor<2x6x12xf32>) -> tensor<12x12xf32>
  %10 = onnx.MatMul %6, %9 : (tensor<2x12xf32>, tensor<12x12xf32>) -> tensor<2x12xf32>
  %11 = onnx.Mul %1, %w : (tensor<12x12xf32>, tensor<12x12xf32>) -> tensor<12x12xf32>
  %y = onnx.MatMul %10, %11 : (tensor<2x12xf32>, tensor<12x12xf32>) -> tensor<2x12xf32>
  return %y : tensor<2x12xf32>
}

// Blocks along the other dim.
// CHECK-LABEL: func.func @other_blocks(
func.func @other_blocks(%x: tensor<2x4xf32>) -> tensor<2x8xf32> {
  %q = onnx.Weight {file = "w", length = 32 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x2x4xi8>
  %s = onnx.Weight {file = "w", length = 32 : i64, name = "s", offset = 288 : i64} : () -> tensor<1x2x1xf32>
  %1 = onnx.Cast %q : (tensor<4x2x4xi8>) -> tensor<4x2x4xf32>
  %2 = onnx.Mul %1, %s : (tensor<4x2x4xf32>, tensor<1x2x1xf32>) -> tensor<4x2x4xf32>
  %3 = onnx.Reshape %2 : (tensor<4x2x4xf32>) -> tensor<4x8xf32>
  %4 = onnx.MatMul %x, %3 : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
  return %4 : tensor<2x8xf32>
}

// A Gemm that is scaled before it is rounded to 16 bits.
// CHECK-LABEL: func.func @scaled_gemm(
// CHECK: onnx.Gemm
func.func @scaled_gemm(%x: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %p = onnx.Weight {file = "w", length = 64 : i64, name = "p", offset = 0 : i64} : () -> tensor<8x8xi8>
  %1 = onnx.Cast %p : (tensor<8x8xi8>) -> tensor<8x8xf16>
  %y = onnx.Gemm %x, %1 {alpha = 0.5 : f32} : (tensor<2x8xf16>, tensor<8x8xf16>) -> tensor<2x8xf16>
  return %y : tensor<2x8xf16>
}

// Scales that repeat along the dim that is summed.
// CHECK-LABEL: func.func @repeated(
func.func @repeated(%x: tensor<2x16xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 64 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x2x8xi8>
  %s = onnx.Weight {file = "w", length = 128 : i64, name = "s", offset = 64 : i64} : () -> tensor<4x1x8xf32>
  %1 = onnx.Cast %q : (tensor<4x2x8xi8>) -> tensor<4x2x8xf32>
  %2 = onnx.Mul %1, %s : (tensor<4x2x8xf32>, tensor<4x1x8xf32>) -> tensor<4x2x8xf32>
  %3 = onnx.Reshape %2 : (tensor<4x2x8xf32>) -> tensor<4x16xf32>
  %4 = onnx.Transpose %3 {perm = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %y = onnx.MatMul %x, %4 : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
