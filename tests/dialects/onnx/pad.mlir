// Pads become a begin and an end for each dim; a constant is a scalar operand.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x?x4xf32, #dist.value<dims = [b, s, 4]>>

// CHECK-LABEL: func.func @constant(
// CHECK: onnx.Pad %arg0, %{{.*}} {bounds = #dist.dims<[0, 1, 0, 0, 2, 0]>{{.*}}} : {{.*}} -> tensor<?x?x4xf32, #dist.value<dims = [b, s + 3, 4]>>
func.func @constant(%x: !x, %c: tensor<f32>) -> (!u) {
  %p = onnx.Constant {value = dense<[0, 1, 0, 0, 2, 0]> : tensor<6xi64>} : () -> tensor<6xi64>
  %y = onnx.Pad %x, %p, %c : (!x, tensor<6xi64>, tensor<f32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @axes(
// CHECK: onnx.Pad %arg0 {bounds = #dist.dims<[0, 0, 2, 0, 0, -1]>, mode = "edge"} : {{.*}} -> tensor<?x?x5xf32, #dist.value<dims = [b, s, 5]>>
func.func @axes(%x: !x) -> (!u) {
  %p = onnx.Constant {value = dense<[2, -1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %a = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  %n = onnx.None : () -> none
  %y = onnx.Pad %x, %p, %n, %a {mode = "edge"} : (!x, tensor<2xi64>, none, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: return %arg0
func.func @nothing(%x: !x) -> (!u) {
  %p = onnx.Constant {value = dense<0> : tensor<6xi64>} : () -> tensor<6xi64>
  %y = onnx.Pad %x, %p : (!x, tensor<6xi64>) -> !u
  return %y : !u
}
