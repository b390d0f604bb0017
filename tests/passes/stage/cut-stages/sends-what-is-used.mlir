// Of an op with several results a stage is sent those that it uses: here the second part alone.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-cut-stages --shardc-verify-phase="phase=staged allows-unrecorded=true" | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [n, 16]>>
!h = tensor<?x32xf32, #dist.value<dims = [n, 32]>>
dist.mesh @mesh <["pp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[PARTS:.*]]:2 = onnx.Split
// CHECK-NEXT: dist.send %[[PARTS]]#1 to 1 as 0
// CHECK-NEXT: %[[FIRST:.*]] = onnx.MatMul %[[PARTS]]#0
// CHECK-NEXT: dist.send %[[FIRST]] to 1 as 1
// CHECK-NOT: dist.send
// CHECK-LABEL: func.func @stage1(
// CHECK: dist.receive from 0 as 1
// CHECK: dist.receive from 0 as 0
// CHECK-NOT: dist.receive
func.func @main(%x: !x {onnx.name = "x"}) -> !x {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %a = onnx.Weight {name = "a", file = "w", offset = 2048 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %b = onnx.Weight {name = "b", file = "w", offset = 3072 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %c = onnx.Weight {name = "c", file = "w", offset = 4096 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %d = onnx.Weight {name = "d", file = "w", offset = 5120 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %0 = onnx.MatMul %x, %up : (!x, tensor<16x32xf32>) -> !h
  %1:2 = onnx.Split %0 {axis = 1 : i64} : (!h) -> (!x, !x)
  %2 = onnx.MatMul %1#0, %a : (!x, tensor<16x16xf32>) -> !x
  %3 = onnx.MatMul %2, %b : (!x, tensor<16x16xf32>) -> !x
  %4 = onnx.Add %3, %1#1 : (!x, !x) -> !x
  %5 = onnx.MatMul %4, %c : (!x, tensor<16x16xf32>) -> !x
  %6 = onnx.MatMul %5, %d : (!x, tensor<16x16xf32>) -> !x
  return %6 : !x
}
