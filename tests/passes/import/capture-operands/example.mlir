// What a body uses from around it becomes an operand; constants are copied.
// RUN: shard-opt %s --shardc-capture-operands --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: onnx.If %arg1, %arg0 : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[ONE:.*]] = onnx.Constant
// CHECK-NEXT: %[[Y:.*]] = onnx.Add %[[X]], %[[ONE]]
// CHECK-NEXT: onnx.Yield %[[Y]]
// CHECK: ^bb0(%[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT: onnx.Yield %[[X]]
func.func @main(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %one = onnx.Constant {value = dense<1.0> : tensor<4xf32>} : () -> tensor<4xf32>
  %y = onnx.If %c : (tensor<i1>) -> tensor<4xf32> {
    %0 = onnx.Add %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %0 : tensor<4xf32>
  } else {
    onnx.Yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// An inner body's captures are the outer one's, too.
// CHECK-LABEL: func.func @nested(
// CHECK: onnx.If %arg1, %arg2, %arg0 : {{.*}} {
// CHECK-NEXT: ^bb0(%[[D:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>):
// CHECK-NEXT: onnx.If %[[D]], %[[X]]
// CHECK-NEXT: ^bb0(%[[INNER:.*]]: tensor<4xf32>):
// CHECK-NEXT: onnx.Relu %[[INNER]]
func.func @nested(%x: tensor<4xf32>, %c: tensor<i1>, %d: tensor<i1>) -> tensor<4xf32> {
  %y = onnx.If %c : (tensor<i1>) -> tensor<4xf32> {
    %z = onnx.If %d : (tensor<i1>) -> tensor<4xf32> {
      %0 = onnx.Relu %x : (tensor<4xf32>) -> tensor<4xf32>
      onnx.Yield %0 : tensor<4xf32>
    } else {
      onnx.Yield %x : tensor<4xf32>
    }
    onnx.Yield %z : tensor<4xf32>
  } else {
    onnx.Yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
