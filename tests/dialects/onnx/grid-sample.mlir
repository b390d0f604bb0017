// Points of an image: the grid says how many.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @grid(
// CHECK: onnx.GridSample {{.*}} -> tensor<?x3x5x7xf32, #dist.value<dims = [n, 3, 5, 7]>>
func.func @grid(%x: tensor<?x3x8x8xf32, #dist.value<dims = [n, 3, 8, 8]>>, %g: tensor<?x5x7x2xf32, #dist.value<dims = [n, 5, 7, 2]>>) -> !u {
  %y = onnx.GridSample %x, %g : (tensor<?x3x8x8xf32, #dist.value<dims = [n, 3, 8, 8]>>, tensor<?x5x7x2xf32, #dist.value<dims = [n, 5, 7, 2]>>) -> !u
  return %y : !u
}
