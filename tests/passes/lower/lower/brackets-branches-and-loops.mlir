// Bodies stand between brackets. Each sets the sizes of what it gives, and frees what it alone needs.
// RUN: shard-opt %s --shardc-to-lowered | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x4xf32, #dist.value<dims = [n, 4]>>

dist.mesh @mesh <["tp"=1]>

// CHECK: %[[Y:.*]] = rt.alloc <["choice:0" * 16]>
// CHECK: rt.if %{{.*}} : <i1, [1], [1], 0, replicated>
// CHECK: rt.call "Relu"(
// CHECK: rt.set_sizes <["choice:0"]> = <[n * 2]>
// CHECK: rt.call "Copy"(
// CHECK: rt.else
// CHECK-NEXT: rt.call "Guard"() into() {kind = "at_least", lhs = #dist.dims<[n]>, message = "{{.*}}", rhs = #dist.dims<[1]>}
// CHECK: rt.set_sizes <["choice:0"]> = <[1]>
// CHECK: rt.call "Copy"(
// CHECK-NEXT: rt.end
func.func @main(%x: !x {onnx.name = "x"}, %limit: tensor<1xf32> {onnx.name = "limit"}, %trips: tensor<i64> {onnx.name = "trips"}) -> (!u, !u) {
  %none = onnx.None : () -> none
  %one = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0> : tensor<1xi64>} : () -> tensor<1xi64>
  %null = onnx.Constant {value = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %c = onnx.Less %null, %limit : (tensor<1xf32>, tensor<1xf32>) -> !u
  %y = onnx.If %c : (!u) -> !u {
    %a = onnx.Relu %x : (!x) -> !u
    %b = onnx.Concat %a, %a {axis = 0 : i64} : (!u, !u) -> !u
    onnx.Yield %b : !u
  } else {
    %b = onnx.Slice %x, %zero, %one : (!x, tensor<1xi64>, tensor<1xi64>) -> !u
    onnx.Yield %b : !u
  } loc("choice")
  // CHECK: %[[I:.*]] = rt.alloc <[8]>
  // CHECK: %[[GO:.*]] = rt.alloc <[1]>
  // CHECK: %[[H:.*]] = rt.alloc <["choice:0" * 16]>
  // CHECK: rt.call "Less"(
  // CHECK: rt.loop
  // CHECK-NEXT: %[[NEXT:.*]] = rt.alloc
  // CHECK: rt.call "Neg"(
  // CHECK: rt.call "Add"(
  // CHECK: rt.call "Less"(
  // CHECK: rt.call "And"(
  // CHECK: rt.call "Copy"(
  // CHECK-NEXT: rt.free %[[NEXT]]
  // CHECK-NEXT: rt.end
  // CHECK: rt.free %[[GO]]
  %z = onnx.Loop %trips, %none, %y : (tensor<i64>, none, !u) -> !u {
  ^bb0(%i: !u, %go: !u, %h: !u):
    %m = onnx.Neg %h : (!u) -> !u
    onnx.Yield %go, %m : !u, !u
  } loc("loop")
  return %y, %z : !u, !u
}
