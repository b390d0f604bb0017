// One position cannot be split: a step of decoding has the splits of a prompt but for the
// sequence, so that both hold the same heads of the cache.
// RUN: shard-opt %s --shardc-recover-caches --shardc-specialize-steps --shardc-propagate-shardings=sequence-parallel=true --shardc-verify-phase="phase=sharded allows-unrecorded=true" --verify-diagnostics | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16]>>
!q = tensor<?x2x?x8xf32, #dist.value<dims = [batch, 2, seq, 8]>>
!p = tensor<?x2x?x8xf32, #dist.value<dims = [batch, 2, past, 8]>>
!all = tensor<?x2x?x8xf32, #dist.value<dims = [batch, 2, past + seq, 8]>>
!s = tensor<?x?x2x8xf32, #dist.value<dims = [batch, seq, 2, 8]>>
dist.mesh @mesh <["cp"=2, "tp"=2]>

func.func @main(%x: !x {onnx.name = "x"}, %past: !p {onnx.name = "past"}) -> (!x, !all) {
  %wq = onnx.Weight {name = "wq", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %g = onnx.Weight {name = "g", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %q = onnx.MatMul %x, %wq : (!x, tensor<16x16xf32>) -> !x
  %qs = onnx.Reshape %q : (!x) -> !s
  %qt = onnx.Transpose %qs {perm = array<i64: 0, 2, 1, 3>} : (!s) -> !q
  %k = onnx.Concat %past, %qt {axis = 2 : i64} : (!p, !q) -> !all
  %at = onnx.Attention %qt, %k, %k : (!q, !all, !all) -> !q
  %as = onnx.Transpose %at {perm = array<i64: 0, 2, 1, 3>} : (!q) -> !s
  %a = onnx.Reshape %as : (!s) -> !x
  %o = onnx.MatMul %a, %wo : (!x, tensor<16x16xf32>) -> !x
  %r = onnx.Add %x, %o : (!x, !x) -> !x
  %n = onnx.RMSNormalization %r, %g {axis = 2 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  return %n, %k : !x, !all
}

// CHECK-LABEL: func.func @main_decode(
// CHECK-SAME: %[[PAST:[a-z0-9]*]]: tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>> {onnx.name = "past"}
// CHECK-NOT: "cp"
// CHECK: onnx.Concat %[[PAST]], {{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK-NOT: "cp"
// CHECK-LABEL: func.func @main_prefill(
// CHECK-SAME: %[[PAST:[a-z0-9]*]]: tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>> {onnx.name = "past"}
// CHECK: onnx.MatMul {{.*}}sharding = [{}, {"cp"=2}, (2:"tp"=2, 8)]>>
// CHECK: onnx.Concat %[[PAST]], {{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: onnx.RMSNormalization {{.*}}"cp"=2
