// Causal attention of a layer over a long sequence, for two ranks of context
// parallelism: 2 heads of 4, projections, a residual. The other files of this folder show
// it after each further phase, its keys and values going around (--cp-mode ring).
//
// RUN: shard-opt %s --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s
// CHECK: func.func @main

!x = tensor<?x?x8xf32, #dist.value<dims = [batch, seq, 8]>>
!s = tensor<?x?x2x4xf32, #dist.value<dims = [batch, seq, 2, 4]>>
!h = tensor<?x2x?x4xf32, #dist.value<dims = [batch, 2, seq, 4]>>

dist.mesh @mesh <["cp"=2]>

func.func @main(%x: !x {onnx.name = "x"}) -> (!x {onnx.name = "y"}) {
  %wq = onnx.Weight {name = "wq", file = "w", offset = 0 : i64, length = 256 : i64} : () -> tensor<8x8xf32>
  %wk = onnx.Weight {name = "wk", file = "w", offset = 256 : i64, length = 256 : i64} : () -> tensor<8x8xf32>
  %wv = onnx.Weight {name = "wv", file = "w", offset = 512 : i64, length = 256 : i64} : () -> tensor<8x8xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 768 : i64, length = 256 : i64} : () -> tensor<8x8xf32>
  %qf = onnx.MatMul %x, %wq : (!x, tensor<8x8xf32>) -> !x
  %qs = onnx.Reshape %qf : (!x) -> !s
  %q = onnx.Transpose %qs {perm = array<i64: 0, 2, 1, 3>} : (!s) -> !h
  %kf = onnx.MatMul %x, %wk : (!x, tensor<8x8xf32>) -> !x
  %ks = onnx.Reshape %kf : (!x) -> !s
  %k = onnx.Transpose %ks {perm = array<i64: 0, 2, 1, 3>} : (!s) -> !h
  %vf = onnx.MatMul %x, %wv : (!x, tensor<8x8xf32>) -> !x
  %vs = onnx.Reshape %vf : (!x) -> !s
  %v = onnx.Transpose %vs {perm = array<i64: 0, 2, 1, 3>} : (!s) -> !h
  %a = onnx.Attention %q, %k, %v {is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!h, !h, !h) -> !h
  %as = onnx.Transpose %a {perm = array<i64: 0, 2, 1, 3>} : (!h) -> !s
  %af = onnx.Reshape %as : (!s) -> !x
  %o = onnx.MatMul %af, %wo : (!x, tensor<8x8xf32>) -> !x
  %y = onnx.Add %x, %o : (!x, !x) -> !x
  return %y : !x
}
