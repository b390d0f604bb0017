// A condition that follows from sizes leaves one branch, whatever the other
// holds; branches may be nested.
// RUN: shard-opt %s --shardc-infer-shapes --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x1xf32, #dist.value<dims = [n, 1]>>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[Y:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?xf32, #dist.value<dims = [n]>>
// CHECK-NEXT: %[[Z:.*]] = onnx.Relu %[[Y]]
// CHECK-NEXT: return %[[Z]]
func.func @main(%x: !x) -> (!u) {
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %shape = onnx.Shape %x {start = 1 : i64} : (!x) -> !u
  %is = onnx.Equal %shape, %one : (!u, tensor<1xi64>) -> !u
  %y = onnx.If %is : (!u) -> !u {
    %inner = onnx.If %is : (!u) -> !u {
      %a = onnx.Squeeze %x, %one : (!x, tensor<1xi64>) -> !u
      onnx.Yield %a : !u
    } else {
      onnx.Yield %x : !x
    }
    onnx.Yield %inner : !u
  } else {
    %bad = onnx.Reshape %x, %shape : (!x, !u) -> !u
    onnx.Yield %bad : !u
  }
  %z = onnx.Relu %y : (!u) -> !u
  return %z : !u
}
