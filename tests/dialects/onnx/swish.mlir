// x * sigmoid(alpha * x), element by element.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.Swish %arg0 {{.*}} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @main(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Swish %x {alpha = 1.702 : f32} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}
