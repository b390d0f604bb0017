// Channels become blocks of pixels, block first or channel first, and pixels become channels.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x12x?x5xf32, #dist.value<dims = [b, 12, h, 5]>>

// CHECK-LABEL: func.func @depth_first(
// CHECK-NEXT: %[[R:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x2x2x3x?x5xf32, #dist.value<dims = [b, 2, 2, 3, h, 5]>>
// CHECK-NEXT: %[[T:.*]] = onnx.Transpose %[[R]] {perm = array<i64: 0, 3, 4, 1, 5, 2>}
// CHECK-NEXT: onnx.Reshape %[[T]] : {{.*}} -> tensor<?x3x?x10xf32, #dist.value<dims = [b, 3, h * 2, 10]>>
func.func @depth_first(%x: !x) -> (!u) {
  %y = onnx.DepthToSpace %x {blocksize = 2 : i64} : (!x) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @column_first(
// CHECK-NEXT: %[[R:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x3x2x2x?x5xf32, #dist.value<dims = [b, 3, 2, 2, h, 5]>>
// CHECK-NEXT: %[[T:.*]] = onnx.Transpose %[[R]] {perm = array<i64: 0, 1, 4, 2, 5, 3>}
// CHECK-NEXT: onnx.Reshape %[[T]] : {{.*}} -> tensor<?x3x?x10xf32, #dist.value<dims = [b, 3, h * 2, 10]>>
func.func @column_first(%x: !x) -> (!u) {
  %y = onnx.DepthToSpace %x {blocksize = 2 : i64, mode = "CRD"} : (!x) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @back(
// CHECK-NEXT: %[[R:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x3x?x2x5x2xf32, #dist.value<dims = [b, 3, h, 2, 5, 2]>>
// CHECK-NEXT: %[[T:.*]] = onnx.Transpose %[[R]] {perm = array<i64: 0, 3, 5, 1, 2, 4>}
// CHECK-NEXT: onnx.Reshape %[[T]] : {{.*}} -> tensor<?x12x?x5xf32, #dist.value<dims = [b, 12, h, 5]>>
func.func @back(%x: tensor<?x3x?x10xf32, #dist.value<dims = [b, 3, h * 2, 10]>>) -> (!u) {
  %y = onnx.SpaceToDepth %x {blocksize = 2 : i64} : (tensor<?x3x?x10xf32, #dist.value<dims = [b, 3, h * 2, 10]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @back_column_first(
// CHECK: onnx.Transpose %{{.*}} {perm = array<i64: 0, 1, 3, 5, 2, 4>}
func.func @back_column_first(%x: tensor<1x3x4x10xf32>) -> (!u) {
  %y = onnx.SpaceToDepth %x {blocksize = 2 : i64, mode = "CRD"} : (tensor<1x3x4x10xf32>) -> !u
  return %y : !u
}
