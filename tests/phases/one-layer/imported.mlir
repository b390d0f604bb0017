// One layer of a Llama-like model as the compiler sees it after import: hidden
// size 16, 4 query heads that share 2 KV heads, head size 4, a gated MLP of 32.
// Sizes that an input decides are symbols; weights are references into a file;
// no operand is left that only carries a shape. Positions are left out.
//
// The other files of this folder show the same layer after each further phase,
// for two ranks: sharded.mlir, partitioned.mlir, lowered.mlir.
//
// RUN: shard-opt %s --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s
// CHECK: func.func @main

!ids = tensor<?x?xi64, #dist.value<dims = [batch, seq]>>
!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16]>>
!kv = tensor<?x?x8xf32, #dist.value<dims = [batch, seq, 8]>>
!ffn = tensor<?x?x32xf32, #dist.value<dims = [batch, seq, 32]>>
!logits = tensor<?x?x64xf32, #dist.value<dims = [batch, seq, 64]>>

// Query heads: [batch, seq, heads, size], then heads before the sequence.
!bshd = tensor<?x?x4x4xf32, #dist.value<dims = [batch, seq, 4, 4]>>
!bhsd = tensor<?x4x?x4xf32, #dist.value<dims = [batch, 4, seq, 4]>>
!bhds = tensor<?x4x4x?xf32, #dist.value<dims = [batch, 4, 4, seq]>>
!scores = tensor<?x4x?x?xf32, #dist.value<dims = [batch, 4, seq, seq]>>

// KV heads, and their repetition for the query heads that share them.
!bskd = tensor<?x?x2x4xf32, #dist.value<dims = [batch, seq, 2, 4]>>
!bksd = tensor<?x2x?x4xf32, #dist.value<dims = [batch, 2, seq, 4]>>
!single = tensor<?x2x1x?x4xf32, #dist.value<dims = [batch, 2, 1, seq, 4]>>
!shared = tensor<?x2x2x?x4xf32, #dist.value<dims = [batch, 2, 2, seq, 4]>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%ids: !ids {onnx.name = "input_ids"}) -> (!logits {onnx.name = "logits"}) {
  %embed = onnx.Weight {name = "embed", file = "model.bin", offset = 0 : i64, length = 4096 : i64} : () -> tensor<64x16xf32>
  %norm1 = onnx.Weight {name = "norm1", file = "model.bin", offset = 4096 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %wq = onnx.Weight {name = "wq", file = "model.bin", offset = 4160 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %wk = onnx.Weight {name = "wk", file = "model.bin", offset = 5184 : i64, length = 512 : i64} : () -> tensor<16x8xf32>
  %wv = onnx.Weight {name = "wv", file = "model.bin", offset = 5696 : i64, length = 512 : i64} : () -> tensor<16x8xf32>
  %wo = onnx.Weight {name = "wo", file = "model.bin", offset = 6208 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %norm2 = onnx.Weight {name = "norm2", file = "model.bin", offset = 7232 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %gate = onnx.Weight {name = "gate", file = "model.bin", offset = 7296 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %up = onnx.Weight {name = "up", file = "model.bin", offset = 9344 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "model.bin", offset = 11392 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %norm3 = onnx.Weight {name = "norm3", file = "model.bin", offset = 13440 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %head = onnx.Weight {name = "head", file = "model.bin", offset = 13504 : i64, length = 4096 : i64} : () -> tensor<16x64xf32>

  %x = onnx.Gather %embed, %ids {axis = 0 : i64} : (tensor<64x16xf32>, !ids) -> !x

  // Attention.
  %n1 = onnx.RMSNormalization %x, %norm1 {axis = 2 : i64} : (!x, tensor<16xf32>) -> !x
  %q = onnx.MatMul %n1, %wq : (!x, tensor<16x16xf32>) -> !x
  %qs = onnx.Reshape %q : (!x) -> !bshd
  %qt = onnx.Transpose %qs {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %k = onnx.MatMul %n1, %wk : (!x, tensor<16x8xf32>) -> !kv
  %ks = onnx.Reshape %k : (!kv) -> !bskd
  %kt = onnx.Transpose %ks {perm = array<i64: 0, 2, 1, 3>} : (!bskd) -> !bksd
  %k1 = onnx.Reshape %kt : (!bksd) -> !single
  %k2 = onnx.Expand %k1 : (!single) -> !shared
  %kr = onnx.Reshape %k2 : (!shared) -> !bhsd
  %v = onnx.MatMul %n1, %wv : (!x, tensor<16x8xf32>) -> !kv
  %vs = onnx.Reshape %v : (!kv) -> !bskd
  %vt = onnx.Transpose %vs {perm = array<i64: 0, 2, 1, 3>} : (!bskd) -> !bksd
  %v1 = onnx.Reshape %vt : (!bksd) -> !single
  %v2 = onnx.Expand %v1 : (!single) -> !shared
  %vr = onnx.Reshape %v2 : (!shared) -> !bhsd
  %krt = onnx.Transpose %kr {perm = array<i64: 0, 1, 3, 2>} : (!bhsd) -> !bhds
  %scores = onnx.MatMul %qt, %krt : (!bhsd, !bhds) -> !scores
  %probs = onnx.Softmax %scores {axis = 3 : i64} : (!scores) -> !scores
  %mixed = onnx.MatMul %probs, %vr : (!scores, !bhsd) -> !bhsd
  %mt = onnx.Transpose %mixed {perm = array<i64: 0, 2, 1, 3>} : (!bhsd) -> !bshd
  %ms = onnx.Reshape %mt : (!bshd) -> !x
  %o = onnx.MatMul %ms, %wo : (!x, tensor<16x16xf32>) -> !x
  %x1 = onnx.Add %x, %o : (!x, !x) -> !x

  // Gated MLP.
  %n2 = onnx.RMSNormalization %x1, %norm2 {axis = 2 : i64} : (!x, tensor<16xf32>) -> !x
  %g = onnx.MatMul %n2, %gate : (!x, tensor<16x32xf32>) -> !ffn
  %sg = onnx.Sigmoid %g : (!ffn) -> !ffn
  %silu = onnx.Mul %g, %sg : (!ffn, !ffn) -> !ffn
  %u = onnx.MatMul %n2, %up : (!x, tensor<16x32xf32>) -> !ffn
  %h = onnx.Mul %silu, %u : (!ffn, !ffn) -> !ffn
  %d = onnx.MatMul %h, %down : (!ffn, tensor<32x16xf32>) -> !x
  %x2 = onnx.Add %x1, %d : (!x, !x) -> !x

  %n3 = onnx.RMSNormalization %x2, %norm3 {axis = 2 : i64} : (!x, tensor<16xf32>) -> !x
  %logits = onnx.MatMul %n3, %head : (!x, tensor<16x64xf32>) -> !logits
  return %logits : !logits
}
