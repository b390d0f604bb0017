// A mixture of 4 experts with its router, as it is after recovery, for two ranks of expert
// parallelism. The other files of this folder show it after each further phase.
//
// RUN: shard-opt %s --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s
// CHECK: func.func @main

!x = tensor<?x8xf32, #dist.value<dims = [tokens, 8]>>
!all = tensor<?x4xf32, #dist.value<dims = [tokens, 4]>>
!p = tensor<?x2xf32, #dist.value<dims = [tokens, 2]>>
!i = tensor<?x2xi64, #dist.value<dims = [tokens, 2]>>

dist.mesh @mesh <["ep"=2]>

func.func @main(%x: !x {onnx.name = "x"}) -> (!x {onnx.name = "y"}) {
  %router = onnx.Weight {name = "router", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<8x4xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 128 : i64, length = 2048 : i64} : () -> tensor<4x8x16xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 2176 : i64, length = 2048 : i64} : () -> tensor<4x16x8xf32>
  %logits = onnx.MatMul %x, %router : (!x, tensor<8x4xf32>) -> !all
  %shares = onnx.Softmax %logits {axis = 1 : i64} : (!all) -> !all
  %best:2 = onnx.TopK %shares {axis = 1 : i64} : (!all) -> (!p, !i)
  %m = onnx.MixtureOfExperts %x, %best#1, %best#0, %up, %down {activation = "relu"} : (!x, !i, !p, tensor<4x8x16xf32>, tensor<4x16x8xf32>) -> !x
  %y = onnx.Add %x, %m : (!x, !x) -> !x
  return %y : !x
}
