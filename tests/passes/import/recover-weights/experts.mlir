// Matrices of experts are put together as they are stored, turned afterwards.
// RUN: shard-opt %s --shardc-recover-weights | FileCheck %s

// Two experts, whose gate and partner are two matrices each.
// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[A:.*]] = onnx.Concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<6x8xi8>, tensor<6x8xi8>) -> tensor<12x8xi8>
// CHECK-DAG: onnx.Concat {{.*}} {axis = 0 : i64} : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<12x2xf32>
// CHECK-DAG: %[[Q:.*]] = onnx.Concat {{.*}} {axis = 0 : i64} : (tensor<1x12x8xi8>, tensor<1x12x8xi8>) -> tensor<2x12x8xi8>
// CHECK-DAG: %[[S:.*]] = onnx.Concat {{.*}} {axis = 0 : i64} : (tensor<1x12x2xf32>, tensor<1x12x2xf32>) -> tensor<2x12x2xf32>
// CHECK: %[[W:.*]] = onnx.DequantizeLinear %[[Q]], %[[S]] {axis = 2 : i64, block_size = 4 : i64} : (tensor<2x12x8xi8>, tensor<2x12x2xf32>) -> tensor<2x12x8xf32>
// CHECK: %[[UP:.*]] = onnx.Transpose %[[W]] {perm = array<i64: 0, 2, 1>}
// One scale for each expert is one for each.
// CHECK: %[[DOWN:.*]] = onnx.DequantizeLinear {{.*}} : (tensor<2x6x8xi8>, tensor<2x1x1xf32>) -> tensor<2x6x8xf32>
// CHECK: onnx.MixtureOfExperts %arg0, %arg1, %arg2, %[[UP]], %[[DOWN]]
func.func @main(%x: tensor<3x8xf32>, %i: tensor<3x1xi64>, %p: tensor<3x1xf32>) -> tensor<3x8xf32> {
  %g0 = onnx.Weight {file = "w", length = 48 : i64, name = "g0", offset = 0 : i64} : () -> tensor<6x8xi8>
  %u0 = onnx.Weight {file = "w", length = 48 : i64, name = "u0", offset = 48 : i64} : () -> tensor<6x8xi8>
  %g1 = onnx.Weight {file = "w", length = 48 : i64, name = "g1", offset = 96 : i64} : () -> tensor<6x8xi8>
  %u1 = onnx.Weight {file = "w", length = 48 : i64, name = "u1", offset = 144 : i64} : () -> tensor<6x8xi8>
  %d0 = onnx.Weight {file = "w", length = 48 : i64, name = "d0", offset = 192 : i64} : () -> tensor<6x8xi8>
  %d1 = onnx.Weight {file = "w", length = 48 : i64, name = "d1", offset = 240 : i64} : () -> tensor<6x8xi8>
  %s = onnx.Weight {file = "w", length = 48 : i64, name = "s", offset = 288 : i64} : () -> tensor<6x2xf32>
  %t = onnx.Weight {file = "w", length = 48 : i64, name = "t", offset = 336 : i64} : () -> tensor<6x2xf32>
  %e = onnx.Weight {file = "w", length = 4 : i64, name = "e", offset = 384 : i64} : () -> tensor<1x1xf32>
  %f = onnx.Weight {file = "w", length = 4 : i64, name = "f", offset = 388 : i64} : () -> tensor<1x1xf32>
  %1 = onnx.DequantizeLinear %g0, %s {block_size = 4 : i64} : (tensor<6x8xi8>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %2 = onnx.DequantizeLinear %u0, %t {block_size = 4 : i64} : (tensor<6x8xi8>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %3 = onnx.DequantizeLinear %g1, %t {block_size = 4 : i64} : (tensor<6x8xi8>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %4 = onnx.DequantizeLinear %u1, %s {block_size = 4 : i64} : (tensor<6x8xi8>, tensor<6x2xf32>) -> tensor<6x8xf32>
  %5 = onnx.Transpose %1 {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %6 = onnx.Transpose %2 {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %7 = onnx.Transpose %3 {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %8 = onnx.Transpose %4 {perm = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %9 = onnx.Concat %5, %6 {axis = 1 : i64} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x12xf32>
  %10 = onnx.Concat %7, %8 {axis = 1 : i64} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x12xf32>
  %11 = onnx.Reshape %9 : (tensor<8x12xf32>) -> tensor<1x8x12xf32>
  %12 = onnx.Reshape %10 : (tensor<8x12xf32>) -> tensor<1x8x12xf32>
  %up = onnx.Concat %11, %12 {axis = 0 : i64} : (tensor<1x8x12xf32>, tensor<1x8x12xf32>) -> tensor<2x8x12xf32>
  %13 = onnx.DequantizeLinear %d0, %e : (tensor<6x8xi8>, tensor<1x1xf32>) -> tensor<6x8xf32>
  %14 = onnx.DequantizeLinear %d1, %f : (tensor<6x8xi8>, tensor<1x1xf32>) -> tensor<6x8xf32>
  %15 = onnx.Reshape %13 : (tensor<6x8xf32>) -> tensor<1x6x8xf32>
  %16 = onnx.Reshape %14 : (tensor<6x8xf32>) -> tensor<1x6x8xf32>
  %down = onnx.Concat %15, %16 {axis = 0 : i64} : (tensor<1x6x8xf32>, tensor<1x6x8xf32>) -> tensor<2x6x8xf32>
  %y = onnx.MixtureOfExperts %x, %i, %p, %up, %down {gate = "halves"} : (tensor<3x8xf32>, tensor<3x1xi64>, tensor<3x1xf32>, tensor<2x8x12xf32>, tensor<2x6x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// Blocks of other sizes are not put together.
// CHECK-LABEL: func.func @other_blocks(
// CHECK: onnx.DequantizeLinear {{.*}} -> tensor<4x8xf32>
// CHECK: onnx.DequantizeLinear {{.*}} -> tensor<4x8xf32>
// CHECK: onnx.Concat {{.*}} -> tensor<8x8xf32>
func.func @other_blocks(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %a = onnx.Weight {file = "w", length = 32 : i64, name = "a", offset = 0 : i64} : () -> tensor<4x8xi8>
  %b = onnx.Weight {file = "w", length = 32 : i64, name = "b", offset = 32 : i64} : () -> tensor<4x8xi8>
  %s = onnx.Weight {file = "w", length = 32 : i64, name = "s", offset = 64 : i64} : () -> tensor<4x2xf32>
  %t = onnx.Weight {file = "w", length = 64 : i64, name = "t", offset = 96 : i64} : () -> tensor<4x4xf32>
  %1 = onnx.DequantizeLinear %a, %s {block_size = 4 : i64} : (tensor<4x8xi8>, tensor<4x2xf32>) -> tensor<4x8xf32>
  %2 = onnx.DequantizeLinear %b, %t {block_size = 2 : i64} : (tensor<4x8xi8>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %3 = onnx.Concat %1, %2 {axis = 0 : i64} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %y = onnx.MatMul %x, %3 : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
