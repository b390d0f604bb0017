// What a weight may be spelled as.
// RUN: shard-opt %s --shardc-recover-weights | FileCheck %s

// One zero point in the integers' range, a scale for each column first.
// CHECK-LABEL: func.func @one_zero_point(
// CHECK: %[[C:.*]] = onnx.Constant {value = dense<128> : tensor<ui8>}
// CHECK: %[[Z:.*]] = onnx.Reshape %[[C]] : (tensor<ui8>) -> tensor<1x1xui8>
// CHECK: onnx.DequantizeLinear %{{.*}}, %{{.*}}, %[[Z]] : (tensor<16x4xui8>, tensor<1x4xf16>, tensor<1x1xui8>) -> tensor<16x4xf16>
func.func @one_zero_point(%x: tensor<2x16xf16>) -> tensor<2x4xf16> {
  %q = onnx.Weight {file = "w", length = 64 : i64, name = "q", offset = 0 : i64} : () -> tensor<16x4xui8>
  %s = onnx.Weight {file = "w", length = 8 : i64, name = "s", offset = 64 : i64} : () -> tensor<4xf16>
  %z = onnx.Constant {value = dense<128.0> : tensor<f16>} : () -> tensor<f16>
  %1 = onnx.Cast %q : (tensor<16x4xui8>) -> tensor<16x4xf16>
  %2 = onnx.Sub %1, %z : (tensor<16x4xf16>, tensor<f16>) -> tensor<16x4xf16>
  %3 = onnx.Mul %s, %2 : (tensor<4xf16>, tensor<16x4xf16>) -> tensor<16x4xf16>
  %y = onnx.MatMul %x, %3 : (tensor<2x16xf16>, tensor<16x4xf16>) -> tensor<2x4xf16>
  return %y : tensor<2x4xf16>
}

// Integers alone, scaled behind the product.
// CHECK-LABEL: func.func @scaled_behind(
// CHECK: %[[ONE:.*]] = onnx.Constant {value = dense<1.000000e+00> : tensor<1x1xf32>}
// CHECK: %[[W:.*]] = onnx.DequantizeLinear %{{.*}}, %[[ONE]] :
// CHECK: onnx.Transpose %[[W]]
func.func @scaled_behind(%x: tensor<2x16xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 64 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x16xi8>
  %s = onnx.Weight {file = "w", length = 16 : i64, name = "s", offset = 64 : i64} : () -> tensor<4xf32>
  %1 = onnx.Cast %q : (tensor<4x16xi8>) -> tensor<4x16xf32>
  %2 = onnx.Transpose %1 {perm = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %3 = onnx.MatMul %x, %2 : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
  %y = onnx.Mul %3, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// A Reshape between DequantizeLinear and the product goes above.
// CHECK-LABEL: func.func @reshape_between(
// CHECK: %[[Q:.*]] = onnx.Reshape %{{.*}} : (tensor<4x2x8xi8>) -> tensor<4x16xi8>
// CHECK: %[[W:.*]] = onnx.DequantizeLinear %[[Q]], %{{.*}} : (tensor<4x16xi8>, tensor<4x1xf32>) -> tensor<4x16xf32>
// CHECK: onnx.Transpose %[[W]]
func.func @reshape_between(%x: tensor<2x16xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 64 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x2x8xi8>
  %s = onnx.Weight {file = "w", length = 16 : i64, name = "s", offset = 64 : i64} : () -> tensor<4x1x1xf32>
  %1 = onnx.DequantizeLinear %q, %s {axis = 0 : i64, block_size = 0 : i64} : (tensor<4x2x8xi8>, tensor<4x1x1xf32>) -> tensor<4x2x8xf32>
  %2 = onnx.Reshape %1 : (tensor<4x2x8xf32>) -> tensor<4x16xf32>
  %3 = onnx.Transpose %2 {perm = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %y = onnx.MatMul %x, %3 : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// With a zero point for each row, which is reshaped as the scale is.
// CHECK-LABEL: func.func @rows(
// CHECK: onnx.DequantizeLinear {{.*}} : (tensor<4x16xui8>, tensor<4x1xf32>, tensor<4x1xui8>) -> tensor<4x16xf32>
func.func @rows(%x: tensor<2x16xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 64 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x2x8xui8>
  %z = onnx.Weight {file = "w", length = 4 : i64, name = "z", offset = 64 : i64} : () -> tensor<4xui8>
  %s = onnx.Weight {file = "w", length = 16 : i64, name = "s", offset = 128 : i64} : () -> tensor<4x1x1xf32>
  %1 = onnx.Cast %q : (tensor<4x2x8xui8>) -> tensor<4x2x8xf32>
  %2 = onnx.Cast %z : (tensor<4xui8>) -> tensor<4xf32>
  %3 = onnx.Reshape %2 : (tensor<4xf32>) -> tensor<4x1x1xf32>
  %4 = onnx.Sub %1, %3 : (tensor<4x2x8xf32>, tensor<4x1x1xf32>) -> tensor<4x2x8xf32>
  %5 = onnx.Mul %4, %s : (tensor<4x2x8xf32>, tensor<4x1x1xf32>) -> tensor<4x2x8xf32>
  %6 = onnx.Reshape %5 : (tensor<4x2x8xf32>) -> tensor<4x16xf32>
  %7 = onnx.Transpose %6 {perm = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %y = onnx.MatMul %x, %7 : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// Zero points that import has made floats of.
// CHECK-LABEL: func.func @folded_zero_points(
// CHECK: onnx.Constant {value = dense<{{\[\[-128\], \[127\]\]}}> : tensor<2x1xi8>}
// CHECK: onnx.DequantizeLinear {{.*}} : (tensor<2x16xi8>, tensor<1x1xf32>, tensor<2x1xi8>) -> tensor<2x16xf32>
func.func @folded_zero_points(%x: tensor<2x16xf32>) -> tensor<2x2xf32> {
  %q = onnx.Weight {file = "w", length = 32 : i64, name = "q", offset = 0 : i64} : () -> tensor<2x16xi8>
  %z = onnx.Constant {value = dense<[[-128.0], [127.0]]> : tensor<2x1xf32>} : () -> tensor<2x1xf32>
  %1 = onnx.Cast %q : (tensor<2x16xi8>) -> tensor<2x16xf32>
  %2 = onnx.Sub %1, %z : (tensor<2x16xf32>, tensor<2x1xf32>) -> tensor<2x16xf32>
  %3 = onnx.Transpose %2 {perm = array<i64: 1, 0>} : (tensor<2x16xf32>) -> tensor<16x2xf32>
  %y = onnx.MatMul %x, %3 : (tensor<2x16xf32>, tensor<16x2xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// Integers that are put together after loading, e4m3, and a Gemm.
// CHECK-LABEL: func.func @computed(
// CHECK: onnx.BitwiseAnd
// CHECK: onnx.DequantizeLinear {{.*}} : (tensor<4x16xui8>, tensor<4x1xf32>, tensor<1x1xui8>) -> tensor<4x16xf32>
// CHECK: onnx.DequantizeLinear {{.*}} : (tensor<4x4xf8E4M3FN>, tensor<1x1xf32>) -> tensor<4x4xf32>
func.func @computed(%x: tensor<2x16xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 64 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x16xui8>
  %s = onnx.Weight {file = "w", length = 16 : i64, name = "s", offset = 64 : i64} : () -> tensor<4x1xf32>
  %f = onnx.Weight {file = "w", length = 16 : i64, name = "f", offset = 128 : i64} : () -> tensor<4x4xf8E4M3FN>
  %low = onnx.Constant {value = dense<15> : tensor<ui8>} : () -> tensor<ui8>
  %minus8 = onnx.Constant {value = dense<-8.0> : tensor<f32>} : () -> tensor<f32>
  %scale = onnx.Constant {value = dense<0.3> : tensor<f32>} : () -> tensor<f32>
  %0 = onnx.BitwiseAnd %q, %low : (tensor<4x16xui8>, tensor<ui8>) -> tensor<4x16xui8>
  %1 = onnx.Cast %0 : (tensor<4x16xui8>) -> tensor<4x16xf32>
  %2 = onnx.Add %1, %minus8 : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16xf32>
  %3 = onnx.Mul %2, %s : (tensor<4x16xf32>, tensor<4x1xf32>) -> tensor<4x16xf32>
  %4 = onnx.Transpose %3 {perm = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<16x4xf32>
  %5 = onnx.MatMul %x, %4 : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32>
  %6 = onnx.Cast %f : (tensor<4x4xf8E4M3FN>) -> tensor<4x4xf32>
  %7 = onnx.Mul %6, %scale : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %y = onnx.MatMul %5, %7 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
