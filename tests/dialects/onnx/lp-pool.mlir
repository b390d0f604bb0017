// Windows without padding: 8 become 3 in steps of 2 by a kernel of 3.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @pool(
// CHECK: onnx.LpPool {{.*}} -> tensor<?x3x3x3xf32, #dist.value<dims = [n, 3, 3, 3]>>
func.func @pool(%x: tensor<?x3x8x8xf32, #dist.value<dims = [n, 3, 8, 8]>>) -> !u {
  %y = onnx.LpPool %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>} : (tensor<?x3x8x8xf32, #dist.value<dims = [n, 3, 8, 8]>>) -> !u
  return %y : !u
}
