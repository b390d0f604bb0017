// Where the first profile has a matrix in its second stage, the others have it there as
// well, even where the work alone would cut them elsewhere: here without %u2.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-cut-stages --shardc-verify-phase="phase=staged allows-unrecorded=true" | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [n, 16]>>
!h = tensor<?x256xf32, #dist.value<dims = [n, 256]>>
dist.mesh @mesh <["pp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK: "up"
// CHECK-NOT: "last"
// CHECK-LABEL: func.func @stage1(
// CHECK: "last"
func.func @main(%x: !x {onnx.name = "x"}) -> !x attributes {onnx.when = {long = true}} {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 16384 : i64} : () -> tensor<16x256xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 16384 : i64, length = 16384 : i64} : () -> tensor<256x16xf32>
  %up2 = onnx.Weight {name = "up2", file = "w", offset = 32768 : i64, length = 16384 : i64} : () -> tensor<16x256xf32>
  %down2 = onnx.Weight {name = "down2", file = "w", offset = 49152 : i64, length = 16384 : i64} : () -> tensor<256x16xf32>
  %w = onnx.Weight {name = "last", file = "w", offset = 65536 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %0 = onnx.MatMul %x, %up : (!x, tensor<16x256xf32>) -> !h
  %1 = onnx.MatMul %0, %down : (!h, tensor<256x16xf32>) -> !x
  %2 = onnx.MatMul %1, %up2 : (!x, tensor<16x256xf32>) -> !h
  %3 = onnx.MatMul %2, %down2 : (!h, tensor<256x16xf32>) -> !x
  %4 = onnx.MatMul %3, %w : (!x, tensor<16x16xf32>) -> !x
  return %4 : !x
}

// CHECK-LABEL: func.func @stage0_1(
// CHECK: "down"
// CHECK-NOT: "last"
// CHECK-LABEL: func.func @stage1_1(
// CHECK-NOT: "down"
// CHECK: "last"
func.func @main_1(%x: !x {onnx.name = "x"}) -> !x attributes {onnx.when = {long = false}} {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 16384 : i64} : () -> tensor<16x256xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 16384 : i64, length = 16384 : i64} : () -> tensor<256x16xf32>
  %w = onnx.Weight {name = "last", file = "w", offset = 65536 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %0 = onnx.MatMul %x, %up : (!x, tensor<16x256xf32>) -> !h
  %1 = onnx.MatMul %0, %down : (!h, tensor<256x16xf32>) -> !x
  %4 = onnx.MatMul %1, %w : (!x, tensor<16x16xf32>) -> !x
  return %4 : !x
}
