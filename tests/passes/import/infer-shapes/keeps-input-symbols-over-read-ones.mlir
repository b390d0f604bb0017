// A size that is read and must equal one that the inputs say is that one; the
// input keeps its symbol, and the read is checked.
// RUN: shard-opt %s --shardc-infer-shapes --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?xf32, #dist.value<dims = [n]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %arg0: tensor<?xf32, #dist.value<dims = [n]>>
// CHECK: onnx.ReadSizes %{{.*}} {sizes = #dist.dims<[n]>}
// CHECK: onnx.Add {{.*}} -> tensor<?xf32, #dist.value<dims = [n]>>
func.func @main(%x: !x, %mask: tensor<?xi1, #dist.value<dims = [m]>>) -> (!u) {
  %places = onnx.NonZero %mask : (tensor<?xi1, #dist.value<dims = [m]>>) -> !u loc("places")
  %c = onnx.Cast %places {to = 1 : i64} : (!u) -> !u
  %axis = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %row = onnx.Squeeze %c, %axis : (!u, tensor<1xi64>) -> !u
  %two = onnx.Concat %x, %row {axis = 0 : i64} : (!x, !u) -> !u
  %half = onnx.Shape %x : (!x) -> !u
  %z = onnx.Reshape %row, %half : (!u, !u) -> !u
  %y = onnx.Add %x, %z : (!x, !u) -> !u
  return %y : !u
}
