// Indices that the file holds: zeros, and each row's own number.
// RUN: shard-opt %s --shardc-fold-indexing | FileCheck %s

!mask = tensor<1x4xi1>
!indices = tensor<1x1x1x4x2xi64>
!rows = tensor<1x1x1x4xi1>

// CHECK-LABEL: func.func @weight
// CHECK-NEXT: %[[COLUMN:.*]] = onnx.Transpose %arg0
// CHECK-NEXT: %[[ROWS:.*]] = onnx.Reshape %[[COLUMN]]
// CHECK-NEXT: return %[[ROWS]]
func.func @weight(%mask: !mask) -> !rows {
  %indices = onnx.Weight {file = "w", length = 64 : i64, name = "i", offset = 0 : i64, pattern = "counted"} : () -> !indices
  %rows = onnx.GatherND %mask, %indices : (!mask, !indices) -> !rows
  return %rows : !rows
}

// CHECK-LABEL: func.func @constant
// CHECK-NEXT: onnx.Transpose %arg0
// CHECK-NEXT: onnx.Reshape
func.func @constant(%mask: !mask) -> !rows {
  %indices = onnx.Constant {value = dense<[[[[[0, 0], [0, 1], [0, 2], [0, 3]]]]]> : !indices} : () -> !indices
  %rows = onnx.GatherND %mask, %indices : (!mask, !indices) -> !rows
  return %rows : !rows
}

// CHECK-LABEL: func.func @turned
// CHECK: onnx.GatherND
func.func @turned(%mask: !mask) -> !rows {
  %indices = onnx.Constant {value = dense<[[[[[0, 0], [0, 2], [0, 1], [0, 3]]]]]> : !indices} : () -> !indices
  %rows = onnx.GatherND %mask, %indices : (!mask, !indices) -> !rows
  return %rows : !rows
}

// CHECK-LABEL: func.func @other_rows
// CHECK: onnx.GatherND
func.func @other_rows(%mask: tensor<2x4xi1>) -> !rows {
  %indices = onnx.Weight {file = "w", length = 64 : i64, name = "i", offset = 0 : i64, pattern = "counted"} : () -> !indices
  %rows = onnx.GatherND %mask, %indices : (tensor<2x4xi1>, !indices) -> !rows
  return %rows : !rows
}
