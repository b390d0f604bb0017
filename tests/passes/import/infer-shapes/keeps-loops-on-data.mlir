// What an iteration changes is a symbol in the body, and another one behind it; rows are as many as iterations.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x4xf32, #dist.value<dims = [n, 4]>>

// CHECK-LABEL: func.func @grows(
// CHECK: onnx.Loop %arg1, %{{.*}}, %arg0 {num_scans = 1 : i64} : {{.*}} -> (tensor<?x4xf32, #dist.value<dims = ["loop:1", 4]>>, tensor<?x?x4xf32, #dist.value<dims = ["loop:2", n, 4]>>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %[[GO:.*]]: tensor<i1>, %[[H:.*]]: tensor<?x4xf32, #dist.value<dims = ["loop:0", 4]>>):
// CHECK-NEXT: %[[M:.*]] = onnx.Relu %arg0
// CHECK-NEXT: %[[G:.*]] = onnx.Concat %[[H]], %[[M]] {{.*}}dims = ["loop:0" + n, 4]
// CHECK-NEXT: onnx.Yield %[[GO]], %[[G]], %[[M]]
func.func @grows(%x: !x, %trips: tensor<i64>) -> (!u, !u) {
  %none = onnx.None : () -> none
  %y, %z = onnx.Loop %trips, %none, %x {num_scans = 1 : i64} : (tensor<i64>, none, !x) -> (!u, !u) {
  ^bb0(%i: !u, %go: !u, %h: !u):
    %m = onnx.Relu %x : (!x) -> !u
    %g = onnx.Concat %h, %m {axis = 0 : i64} : (!u, !u) -> !u
    onnx.Yield %go, %g, %m : !u, !u, !u
  } loc("loop")
  return %y, %z : !u, !u
}

// A known number of iterations is the number of rows; what does not change keeps its size.
// CHECK-LABEL: func.func @counted(
// CHECK: onnx.Loop {{.*}} -> (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x?x4xf32, #dist.value<dims = [n, n, 4]>>)
func.func @counted(%x: !x) -> (!u, !u) {
  %none = onnx.None : () -> none
  %sizes = onnx.Shape %x {end = 1 : i64} : (!x) -> !u
  %y, %z = onnx.Loop %sizes, %none, %x {num_scans = 1 : i64} : (!u, none, !x) -> (!u, !u) {
  ^bb0(%i: !u, %go: !u, %h: !u):
    %m = onnx.Relu %h : (!u) -> !u
    onnx.Yield %go, %m, %m : !u, !u, !u
  }
  return %y, %z : !u, !u
}

// Few iterations are written out, and none at all vanish.
// CHECK-LABEL: func.func @short(
// CHECK-NEXT: %[[A:.*]] = onnx.Relu %arg0
// CHECK-NEXT: %[[B:.*]] = onnx.Relu %[[A]]
// CHECK-NEXT: return %[[B]], %arg0
func.func @short(%x: !x) -> (!u, !u) {
  %none = onnx.None : () -> none
  %two = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %zero = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %y = onnx.Loop %two, %none, %x : (tensor<i64>, none, !x) -> !u {
  ^bb0(%i: !u, %go: !u, %h: !u):
    %m = onnx.Relu %h : (!u) -> !u
    onnx.Yield %go, %m : !u, !u
  }
  %z = onnx.Loop %zero, %none, %x : (tensor<i64>, none, !x) -> !u {
  ^bb0(%i: !u, %go: !u, %h: !u):
    %m = onnx.Relu %h : (!u) -> !u
    onnx.Yield %go, %m : !u, !u
  }
  return %y, %z : !u, !u
}
