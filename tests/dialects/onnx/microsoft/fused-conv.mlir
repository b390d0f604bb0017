// The addend is added to the convolution, then comes the activation.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x3x4x4xf32, #dist.value<dims = [b, 3, 4, 4]>>
!y = tensor<?x8x4x4xf32, #dist.value<dims = [b, 8, 4, 4]>>

// CHECK-LABEL: func.func @addend(
// CHECK-NEXT: %[[C:.*]] = onnx.Conv %arg0, %arg1, %arg2 {{{.*}}pads = array<i64: 1, 1, 1, 1>{{.*}}}
// CHECK-NEXT: %[[A:.*]] = onnx.Add %[[C]], %arg3
// CHECK-NEXT: onnx.LeakyRelu %[[A]] {alpha = 1.250000e-01 : f32} : {{.*}} -> tensor<?x8x4x4xf32, #dist.value<dims = [b, 8, 4, 4]>>
func.func @addend(%x: !x, %w: tensor<8x3x3x3xf32>, %c: tensor<8xf32>, %z: !y) -> (!u) {
  %y = onnx.microsoft.FusedConv %x, %w, %c, %z {activation = "LeakyRelu", activation_params = [0.125 : f32], kernel_shape = array<i64: 3, 3>, pads = array<i64: 1, 1, 1, 1>} : (!x, tensor<8x3x3x3xf32>, tensor<8xf32>, !y) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @bounds(
// CHECK-NEXT: %[[C:.*]] = onnx.Conv %arg0, %arg1 {
// CHECK-NEXT: %[[LOW:.*]] = onnx.Constant {value = dense<0.000000e+00>
// CHECK-NEXT: %[[HIGH:.*]] = onnx.Constant {value = dense<6.000000e+00>
// CHECK-NEXT: onnx.Clip %[[C]], %[[LOW]], %[[HIGH]]
func.func @bounds(%x: !x, %w: tensor<8x3x1x1xf32>) -> (!u) {
  %y = onnx.microsoft.FusedConv %x, %w {activation = "Clip", activation_params = [0.0 : f32, 6.0 : f32]} : (!x, tensor<8x3x1x1xf32>) -> !u
  return %y : !u
}
