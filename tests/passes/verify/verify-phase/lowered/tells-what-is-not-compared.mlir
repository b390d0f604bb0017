// The body of a loop that carries other sizes in each iteration is not followed: that is said.
// RUN: shard-opt %s --shardc-to-lowered 2>&1 >/dev/null | FileCheck %s

// CHECK: remark: verify-phase: of 2 ops of stage0.partitioned, 2 are not compared with instructions; this is the first

!u = tensor<*x!onnx.unknown>
!x = tensor<?x4xf32, #dist.value<dims = [n, 4]>>

dist.mesh @mesh <["tp"=1]>

func.func @main(%x: !x {onnx.name = "x"}, %trips: tensor<i64> {onnx.name = "trips"}) -> !u {
  %none = onnx.None : () -> none
  %z = onnx.Loop %trips, %none, %x : (tensor<i64>, none, !x) -> !u {
  ^bb0(%i: !u, %go: !u, %h: !u):
    %twice = onnx.Concat %h, %h {axis = 0 : i64} : (!u, !u) -> !u
    %m = onnx.Neg %twice : (!u) -> !u
    onnx.Yield %go, %m : !u, !u
  } loc("loop")
  return %z : !u
}
