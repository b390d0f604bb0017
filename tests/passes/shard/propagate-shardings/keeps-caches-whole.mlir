// A prompt sets caches that a step appends to, or reads as they are: all positions of
// them are on every rank of "cp", as attention needs them. The other output stays split.
// RUN: shard-opt %s --shardc-propagate-shardings=context-mode=gather --shardc-verify-phase="phase=sharded allows-unrecorded=true" | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16]>>
!q = tensor<?x2x?x8xf32, #dist.value<dims = [batch, 2, seq, 8]>>
!s = tensor<?x?x2x8xf32, #dist.value<dims = [batch, seq, 2, 8]>>
dist.mesh @mesh <["cp"=2]>

func.func @main(%x: !x, %past_keys: !q, %past_values: !q) -> (!x, !q {onnx.cache = {dim = 2 : i64, input = 1 : i64, kind = "set"}}, !q {onnx.cache = {input = 2 : i64, kind = "set"}}) {
  %wk = onnx.Weight {name = "wk", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %wv = onnx.Weight {name = "wv", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %k = onnx.MatMul %x, %wk : (!x, tensor<16x16xf32>) -> !x
  %ks = onnx.Reshape %k : (!x) -> !s
  %kt = onnx.Transpose %ks {perm = array<i64: 0, 2, 1, 3>} : (!s) -> !q
  %v = onnx.MatMul %x, %wv : (!x, tensor<16x16xf32>) -> !x
  %vs = onnx.Reshape %v : (!x) -> !s
  %vt = onnx.Transpose %vs {perm = array<i64: 0, 2, 1, 3>} : (!s) -> !q
  %at = onnx.Attention %kt, %kt, %vt {is_causal = 1 : i64} : (!q, !q, !q) -> !q
  %as = onnx.Transpose %at {perm = array<i64: 0, 2, 1, 3>} : (!q) -> !s
  %a = onnx.Reshape %as : (!s) -> !x
  return %a, %kt, %vt : !x, !q, !q
}

// CHECK-COUNT-2: dist.reshard
// CHECK-NOT: dist.reshard
// CHECK: return %{{.*}} : tensor<{{[^>]*}}sharding = [{}, {"cp"=2}, {}]>>, tensor<{{[^>]*}}sharding = [{}, {}, {}, {}]>>, tensor<{{[^>]*}}sharding = [{}, {}, {}, {}]>>
