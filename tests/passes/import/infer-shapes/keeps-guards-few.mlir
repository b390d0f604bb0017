// Each assumption is checked once; a higher bound of a symbol covers a lower.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: onnx.Guard #dist.dims<[seq]> "at_least" #dist.dims<[3]> "MaxPool: the kernel is larger than the image"
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 0, seq - 1]>, steps = array<i64: 1, 1, 1>} : {{.*}} -> tensor<1x16x1xf32>
// CHECK-NEXT: %[[POOL:.*]] = onnx.MaxPool %arg0
// CHECK-NEXT: %[[SLICE2:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 0, seq - 1]>, steps = array<i64: 1, 1, 1>} : {{.*}} -> tensor<1x16x1xf32>
// CHECK-NEXT: return %[[SLICE]], %[[POOL]], %[[SLICE2]]
func.func @main(%x: tensor<1x16x?xf32, #dist.value<dims = [1, 16, seq]>>) -> (!u, !u, !u) {
  %a = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %axis = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %a, %end, %axis : (tensor<1x16x?xf32, #dist.value<dims = [1, 16, seq]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  %z = onnx.MaxPool %x {kernel_shape = array<i64: 3>} : (tensor<1x16x?xf32, #dist.value<dims = [1, 16, seq]>>) -> !u
  %u = onnx.Slice %x, %a, %end, %axis : (tensor<1x16x?xf32, #dist.value<dims = [1, 16, seq]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y, %z, %u : !u, !u, !u
}
