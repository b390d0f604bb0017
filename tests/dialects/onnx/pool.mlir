// auto_pad becomes pads; sizes count the windows; whole images are reduced.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x3x5x?xf32, #dist.value<dims = [b, 3, 5, w]>>

// CHECK-LABEL: func.func @max(
// CHECK: onnx.MaxPool %arg0 {{.*}} -> tensor<?x3x2x?xf32, #dist.value<dims = [b, 3, 2, w - 1]>>
func.func @max(%x: !x) -> (!u) {
  %y = onnx.MaxPool %x {kernel_shape = array<i64: 3, 2>, strides = array<i64: 2, 1>} : (!x) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @same(
// CHECK: onnx.AveragePool %arg0 {{.*}}pads = array<i64: 0, 0, 1, 0>{{.*}} -> tensor<2x3x2x4xf32>
func.func @same(%x: tensor<2x3x4x4xf32>) -> (!u) {
  %y = onnx.AveragePool %x {auto_pad = "SAME_UPPER", kernel_shape = array<i64: 3, 1>, strides = array<i64: 2, 1>} : (tensor<2x3x4x4xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @whole(
// CHECK-NEXT: onnx.ReduceMean %arg0 {axes = array<i64: 2, 3>{{.*}} -> tensor<?x3x1x1xf32, #dist.value<dims = [b, 3, 1, 1]>>
func.func @whole(%x: !x) -> (!u) {
  %y = onnx.GlobalAveragePool %x : (!x) -> !u
  return %y : !u
}
