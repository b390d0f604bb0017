// Groups of 32 along the dim that is summed, as exporters spell them without
// DequantizeLinear.
// RUN: shard-opt %s --shardc-recover-weights | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[Q:.*]] = onnx.Weight {{.*}}name = "q"
// CHECK-DAG: %[[Z:.*]] = onnx.Weight {{.*}}name = "z"
// CHECK-DAG: %[[S:.*]] = onnx.Weight {{.*}}name = "s"
// CHECK-DAG: %[[Q2:.*]] = onnx.Reshape %[[Q]] : (tensor<4x8x32xui8>) -> tensor<4x256xui8>
// CHECK-DAG: %[[S2:.*]] = onnx.Reshape %[[S]] : (tensor<4x8x1xf32>) -> tensor<4x8xf32>
// CHECK-DAG: %[[Z2:.*]] = onnx.Reshape %[[Z]] : (tensor<4x8x1xui8>) -> tensor<4x8xui8>
// CHECK: %[[W:.*]] = onnx.DequantizeLinear %[[Q2]], %[[S2]], %[[Z2]] {block_size = 32 : i64} : (tensor<4x256xui8>, tensor<4x8xf32>, tensor<4x8xui8>) -> tensor<4x256xf32>
// CHECK-NEXT: %[[T:.*]] = onnx.Transpose %[[W]]
// CHECK-NEXT: %[[Y:.*]] = onnx.MatMul %arg0, %[[T]]
// CHECK-NEXT: return %[[Y]]
func.func @main(%x: tensor<2x256xf32>) -> tensor<2x4xf32> {
  %q = onnx.Weight {file = "w", length = 1024 : i64, name = "q", offset = 0 : i64} : () -> tensor<4x8x32xui8>
  %z = onnx.Weight {file = "w", length = 32 : i64, name = "z", offset = 1024 : i64} : () -> tensor<4x8x1xui8>
  %s = onnx.Weight {file = "w", length = 128 : i64, name = "s", offset = 1088 : i64} : () -> tensor<4x8x1xf32>
  %1 = onnx.Cast %q : (tensor<4x8x32xui8>) -> tensor<4x8x32xf32>
  %2 = onnx.Cast %z : (tensor<4x8x1xui8>) -> tensor<4x8x1xf32>
  %3 = onnx.Sub %1, %2 : (tensor<4x8x32xf32>, tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
  %4 = onnx.Mul %3, %s : (tensor<4x8x32xf32>, tensor<4x8x1xf32>) -> tensor<4x8x32xf32>
  %5 = onnx.Reshape %4 : (tensor<4x8x32xf32>) -> tensor<4x256xf32>
  %6 = onnx.Transpose %5 {perm = array<i64: 1, 0>} : (tensor<4x256xf32>) -> tensor<256x4xf32>
  %y = onnx.MatMul %x, %6 : (tensor<2x256xf32>, tensor<256x4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}
