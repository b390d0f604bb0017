// auto_pad becomes pads; defaults are filled in.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @patches(
// CHECK-NEXT: %[[CONV:.*]] = onnx.Conv %arg0, %arg1, %arg2 {dilations = array<i64: 1, 1>, kernel_shape = array<i64: 8, 8>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 8, 8>} : {{.*}} -> tensor<?x128x4x4xf32, #dist.value<dims = [b, 128, 4, 4]>>
// CHECK-NEXT: return %[[CONV]]
func.func @patches(%x: tensor<?x3x32x32xf32, #dist.value<dims = [b, 3, 32, 32]>>, %w: tensor<128x3x8x8xf32>, %c: tensor<128xf32>) -> (!u) {
  %y = onnx.Conv %x, %w, %c {strides = array<i64: 8, 8>} : (tensor<?x3x32x32xf32, #dist.value<dims = [b, 3, 32, 32]>>, tensor<128x3x8x8xf32>, tensor<128xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @same(
// CHECK-NEXT: %[[CONV:.*]] = onnx.Conv %arg0, %arg1 {dilations = array<i64: 1>, kernel_shape = array<i64: 3>, pads = array<i64: 1, 1>, strides = array<i64: 2>} : {{.*}} -> tensor<?x4x4xf32, #dist.value<dims = [b, 4, 4]>>
// CHECK-NEXT: return %[[CONV]]
func.func @same(%x: tensor<?x3x7xf32, #dist.value<dims = [b, 3, 7]>>, %w: tensor<4x3x3xf32>) -> (!u) {
  %y = onnx.Conv %x, %w {auto_pad = "SAME_UPPER", strides = array<i64: 2>} : (tensor<?x3x7xf32, #dist.value<dims = [b, 3, 7]>>, tensor<4x3x3xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: onnx.Guard #dist.dims<[t]> "at_least" #dist.dims<[1]> "Conv: the kernel is larger than the image"
// CHECK-NEXT: %[[CONV:.*]] = onnx.Conv %arg0, %arg1 {dilations = array<i64: 1>, group = 8 : i64, kernel_shape = array<i64: 3>, pads = array<i64: 1, 1>, strides = array<i64: 1>} : {{.*}} -> tensor<?x8x?xf32, #dist.value<dims = [b, 8, t]>>
// CHECK-NEXT: return %[[CONV]]
func.func @grouped(%x: tensor<?x8x?xf32, #dist.value<dims = [b, 8, t]>>, %w: tensor<8x1x3xf32>) -> (!u) {
  %y = onnx.Conv %x, %w {group = 8 : i64, pads = array<i64: 1, 1>} : (tensor<?x8x?xf32, #dist.value<dims = [b, 8, t]>>, tensor<8x1x3xf32>) -> !u
  return %y : !u
}
