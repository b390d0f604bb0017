// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!x = tensor<?x4xf32, #dist.value<dims = [n, 4]>>

// Both branches give the same sizes.
// CHECK-LABEL: func.func @branches(
// CHECK: onnx.If %arg1 : (tensor<i1>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>> {
// CHECK: onnx.Relu
// CHECK: } else {
// CHECK: onnx.Yield %arg0
func.func @branches(%x: !x, %c: tensor<i1>) -> !x {
  %y = onnx.If %c : (tensor<i1>) -> !x {
    %0 = onnx.Relu %x : (!x) -> !x
    onnx.Yield %0 : !x
  } else {
    onnx.Yield %x : !x
  }
  return %y : !x
}

// What is scanned has a row for each iteration; how many there are is read.
// CHECK-LABEL: func.func @loop(
// CHECK: %{{.*}}:2 = onnx.Loop %arg1, %arg2, %arg0
// CHECK-SAME: num_scans = 1
// CHECK: onnx.Yield %{{.*}}, %[[NEXT:.*]], %[[NEXT]]
func.func @loop(%x: tensor<4xf32>, %trips: tensor<i64>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<?x4xf32>) {
  %y, %rows = onnx.Loop %trips, %c, %x {num_scans = 1 : i64} : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<?x4xf32>) {
  ^bb0(%i: tensor<i64>, %goesOn: tensor<i1>, %sum: tensor<4xf32>):
    %next = onnx.Add %sum, %sum : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %goesOn, %next, %next : tensor<i1>, tensor<4xf32>, tensor<4xf32>
  }
  return %y, %rows : tensor<4xf32>, tensor<?x4xf32>
}
