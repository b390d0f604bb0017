// A branch that the data decide stays. What is assumed in it is checked in it; sizes in which the branches differ are a
// symbol of the result.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x4xf32, #dist.value<dims = [n, 4]>>
!k = tensor<?x4xf32, #dist.value<dims = [k, 4]>>

// CHECK-LABEL: func.func @sizes(
// CHECK-NOT: onnx.Guard
// CHECK: %[[R:.*]]:2 = onnx.If %arg1 : (tensor<1xi1>) -> (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xf32, #dist.value<dims = ["choice:0", 4]>>) {
// CHECK-NEXT: onnx.Relu
// CHECK-NEXT: onnx.Concat {{.*}}dims = [n * 2, 4]
// CHECK-NEXT: onnx.Yield
// CHECK-NEXT: } else {
// CHECK-NEXT: onnx.Guard #dist.dims<[n]> "at_least" #dist.dims<[1]>
// CHECK-NEXT: onnx.Neg
// CHECK-NEXT: onnx.Slice {{.*}} -> tensor<1x4xf32>
// CHECK-NEXT: onnx.Yield
// CHECK-NEXT: }
// CHECK-NEXT: return %[[R]]#0, %[[R]]#1
func.func @sizes(%x: !x, %c: tensor<1xi1>) -> (!u, !u) {
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %y, %z = onnx.If %c : (tensor<1xi1>) -> (!u, !u) {
    %a = onnx.Relu %x : (!x) -> !u
    %b = onnx.Concat %x, %a {axis = 0 : i64} : (!x, !u) -> !u
    onnx.Yield %a, %b : !u, !u
  } else {
    %a = onnx.Neg %x : (!x) -> !u
    %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
    %b = onnx.Slice %x, %zero, %one : (!x, tensor<1xi64>, tensor<1xi64>) -> !u
    onnx.Yield %a, %b : !u, !u
  } loc("choice")
  return %y, %z : !u, !u
}

// Sizes that are equal in one branch are not in the other, nor behind it.
// CHECK-LABEL: func.func @equality(
// CHECK-SAME: %arg0: tensor<?x4xf32, #dist.value<dims = [n, 4]>>, %arg1: tensor<?x4xf32, #dist.value<dims = [k, 4]>>
// CHECK: onnx.If %arg2
// CHECK-NEXT: onnx.Guard #dist.dims<[n]> "equal" #dist.dims<[k]>
// CHECK-NEXT: %[[SAME:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x4xf32, #dist.value<dims = [k, 4]>>
// CHECK-NEXT: onnx.Add %[[SAME]], %arg1
// CHECK: } else {
// CHECK-NEXT: onnx.Neg %arg0 : {{.*}}dims = [n, 4]
// CHECK: onnx.Neg %arg1 : {{.*}}dims = [k, 4]
func.func @equality(%x: !x, %k: !k, %c: tensor<1xi1>) -> (!u, !u) {
  %y = onnx.If %c : (tensor<1xi1>) -> !u {
    %a = onnx.Add %x, %k : (!x, !k) -> !u
    onnx.Yield %a : !u
  } else {
    %a = onnx.Neg %x : (!x) -> !u
    onnx.Yield %a : !u
  }
  %z = onnx.Neg %k : (!k) -> !u
  return %y, %z : !u, !u
}

// What only a branch needs, only it reads.
// CHECK-LABEL: func.func @reads(
// CHECK-NOT: onnx.ReadSizes
// CHECK: onnx.If
// CHECK-NEXT: onnx.ReadSizes %arg1
// CHECK-NEXT: onnx.Expand
// CHECK: } else {
// CHECK-NOT: onnx.ReadSizes
// CHECK: return
func.func @reads(%c: tensor<1xi1>, %size: tensor<1xi64>, %x: tensor<1xf32>) -> !u {
  %y = onnx.If %c : (tensor<1xi1>) -> !u {
    %a = onnx.Expand %x, %size : (tensor<1xf32>, tensor<1xi64>) -> !u
    onnx.Yield %a : !u
  } else {
    onnx.Yield %x : tensor<1xf32>
  }
  return %y : !u
}
