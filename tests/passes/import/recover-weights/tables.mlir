// Rows of a table become numbers when they were looked up.
// RUN: shard-opt %s --shardc-recover-weights | FileCheck %s

// CHECK-LABEL: func.func @blocks(
// CHECK-DAG: %[[Q:.*]] = onnx.Gather %{{.*}}, %arg0 {{.*}}: (tensor<40x16xi8>, tensor<?x3xi64
// CHECK-DAG: %[[S:.*]] = onnx.Gather %{{.*}}, %arg0 {{.*}}: (tensor<40x4xf32>, tensor<?x3xi64
// CHECK: %[[E:.*]] = onnx.DequantizeLinear %[[Q]], %[[S]] {axis = 2 : i64, block_size = 4 : i64}
// CHECK-NEXT: return %[[E]]
func.func @blocks(%i: tensor<?x3xi64, #dist.value<dims = [b, 3]>>) -> tensor<?x3x16xf32, #dist.value<dims = [b, 3, 16]>> {
  %q = onnx.Weight {file = "w", length = 640 : i64, name = "q", offset = 0 : i64} : () -> tensor<40x16xi8>
  %s = onnx.Weight {file = "w", length = 640 : i64, name = "s", offset = 640 : i64} : () -> tensor<40x4xf32>
  %1 = onnx.DequantizeLinear %q, %s {block_size = 4 : i64} : (tensor<40x16xi8>, tensor<40x4xf32>) -> tensor<40x16xf32>
  %e = onnx.Gather %1, %i : (tensor<40x16xf32>, tensor<?x3xi64, #dist.value<dims = [b, 3]>>) -> tensor<?x3x16xf32, #dist.value<dims = [b, 3, 16]>>
  return %e : tensor<?x3x16xf32, #dist.value<dims = [b, 3, 16]>>
}

// One scale for each column is that of all rows.
// CHECK-LABEL: func.func @columns(
// CHECK: %[[Q:.*]] = onnx.Gather
// CHECK: %[[S:.*]] = onnx.Reshape %{{.*}} : (tensor<1x16xf32>) -> tensor<16xf32>
// CHECK: onnx.DequantizeLinear %[[Q]], %[[S]] {axis = 0 : i64} : (tensor<16xi8>, tensor<16xf32>) -> tensor<16xf32>
func.func @columns(%i: tensor<i64>) -> tensor<16xf32> {
  %q = onnx.Weight {file = "w", length = 640 : i64, name = "q", offset = 0 : i64} : () -> tensor<40x16xi8>
  %s = onnx.Weight {file = "w", length = 64 : i64, name = "s", offset = 640 : i64} : () -> tensor<1x16xf32>
  %1 = onnx.DequantizeLinear %q, %s : (tensor<40x16xi8>, tensor<1x16xf32>) -> tensor<40x16xf32>
  %e = onnx.Gather %1, %i : (tensor<40x16xf32>, tensor<i64>) -> tensor<16xf32>
  return %e : tensor<16xf32>
}

// A table that is the last product's weight as well.
// CHECK-LABEL: func.func @tied(
// CHECK: %[[Q:.*]] = onnx.Gather
// CHECK: %[[E:.*]] = onnx.DequantizeLinear %[[Q]]
// CHECK: %[[W:.*]] = onnx.DequantizeLinear {{.*}} -> tensor<40x16xf32>
// CHECK: %[[T:.*]] = onnx.Transpose %[[W]]
// CHECK: onnx.MatMul %[[E]], %[[T]]
func.func @tied(%i: tensor<5xi64>) -> tensor<5x40xf32> {
  %q = onnx.Weight {file = "w", length = 640 : i64, name = "q", offset = 0 : i64} : () -> tensor<40x16xi8>
  %s = onnx.Weight {file = "w", length = 160 : i64, name = "s", offset = 640 : i64} : () -> tensor<40x1xf32>
  %1 = onnx.DequantizeLinear %q, %s : (tensor<40x16xi8>, tensor<40x1xf32>) -> tensor<40x16xf32>
  %e = onnx.Gather %1, %i : (tensor<40x16xf32>, tensor<5xi64>) -> tensor<5x16xf32>
  %t = onnx.Transpose %1 {perm = array<i64: 1, 0>} : (tensor<40x16xf32>) -> tensor<16x40xf32>
  %y = onnx.MatMul %e, %t : (tensor<5x16xf32>, tensor<16x40xf32>) -> tensor<5x40xf32>
  return %y : tensor<5x40xf32>
}

// Two products each have their own.
// CHECK-LABEL: func.func @shared(
// CHECK: %[[B:.*]] = onnx.DequantizeLinear
// CHECK: %[[A:.*]] = onnx.DequantizeLinear
// CHECK: %[[Y:.*]] = onnx.MatMul %arg0, %[[A]]
// CHECK: onnx.MatMul %[[Y]], %[[B]]
func.func @shared(%x: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %q = onnx.Weight {file = "w", length = 256 : i64, name = "q", offset = 0 : i64} : () -> tensor<16x16xi8>
  %s = onnx.Weight {file = "w", length = 64 : i64, name = "s", offset = 640 : i64} : () -> tensor<1x16xf32>
  %1 = onnx.DequantizeLinear %q, %s : (tensor<16x16xi8>, tensor<1x16xf32>) -> tensor<16x16xf32>
  %2 = onnx.MatMul %x, %1 : (tensor<5x16xf32>, tensor<16x16xf32>) -> tensor<5x16xf32>
  %y = onnx.MatMul %2, %1 : (tensor<5x16xf32>, tensor<16x16xf32>) -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// Rows that are known once weights are loaded.
// CHECK-LABEL: func.func @known_rows(
// CHECK: onnx.Mul
// CHECK: onnx.Gather {{.*}} : (tensor<40x16xf32>, tensor<2xi64>) -> tensor<2x16xf32>
func.func @known_rows(%x: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %q = onnx.Weight {file = "w", length = 640 : i64, name = "q", offset = 0 : i64} : () -> tensor<40x16xi8>
  %s = onnx.Weight {file = "w", length = 160 : i64, name = "s", offset = 640 : i64} : () -> tensor<40x1xf32>
  %i = onnx.Constant {value = dense<[3, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %1 = onnx.Cast %q : (tensor<40x16xi8>) -> tensor<40x16xf32>
  %2 = onnx.Mul %1, %s : (tensor<40x16xf32>, tensor<40x1xf32>) -> tensor<40x16xf32>
  %3 = onnx.Gather %2, %i : (tensor<40x16xf32>, tensor<2xi64>) -> tensor<2x16xf32>
  %y = onnx.Add %x, %3 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x16xf32>
  return %y : tensor<2x16xf32>
}

// Blocks of rows would have to be found for each row, and integers without scales stay.
// CHECK-LABEL: func.func @stay(
// CHECK: onnx.DequantizeLinear {{.*}} -> tensor<40x16xf32>
// CHECK: onnx.Gather {{.*}} -> tensor<5x16xf32>
// CHECK: onnx.Cast {{.*}} -> tensor<40x16xf32>
// CHECK: onnx.Gather {{.*}} -> tensor<5x16xf32>
func.func @stay(%i: tensor<5xi64>) -> tensor<5x16xf32> {
  %q = onnx.Weight {file = "w", length = 640 : i64, name = "q", offset = 0 : i64} : () -> tensor<40x16xi8>
  %s = onnx.Weight {file = "w", length = 640 : i64, name = "s", offset = 640 : i64} : () -> tensor<10x16xf32>
  %1 = onnx.DequantizeLinear %q, %s {axis = 0 : i64, block_size = 4 : i64} : (tensor<40x16xi8>, tensor<10x16xf32>) -> tensor<40x16xf32>
  %2 = onnx.Gather %1, %i : (tensor<40x16xf32>, tensor<5xi64>) -> tensor<5x16xf32>
  %3 = onnx.Cast %q : (tensor<40x16xi8>) -> tensor<40x16xf32>
  %4 = onnx.Gather %3, %i : (tensor<40x16xf32>, tensor<5xi64>) -> tensor<5x16xf32>
  %y = onnx.Add %2, %4 : (tensor<5x16xf32>, tensor<5x16xf32>) -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}
