// Both over one sequence: what "cp" holds is cut further over "tp".
// RUN: shard-opt %s --shardc-propagate-shardings="sequence-parallel=true context-mode=gather" --shardc-cut-stages --shardc-partition \
// RUN:   --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [batch, seq, 32]>>
!q = tensor<?x2x?x8xf32, #dist.value<dims = [batch, 2, seq, 8]>>
!s = tensor<?x?x2x8xf32, #dist.value<dims = [batch, seq, 2, 8]>>
dist.mesh @mesh <["cp"=2, "tp"=2]>

func.func @main(%x: !x) -> !x {
  %wq = onnx.Weight {name = "wq", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %g = onnx.Weight {name = "g", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %q = onnx.MatMul %x, %wq : (!x, tensor<16x16xf32>) -> !x
  %qs = onnx.Reshape %q : (!x) -> !s
  %qt = onnx.Transpose %qs {perm = array<i64: 0, 2, 1, 3>} : (!s) -> !q
  %at = onnx.Attention %qt, %qt, %qt {is_causal = 1 : i64} : (!q, !q, !q) -> !q
  %as = onnx.Transpose %at {perm = array<i64: 0, 2, 1, 3>} : (!q) -> !s
  %a = onnx.Reshape %as : (!s) -> !x
  %o = onnx.MatMul %a, %wo : (!x, tensor<16x16xf32>) -> !x
  %r = onnx.Add %x, %o : (!x, !x) -> !x
  %n = onnx.RMSNormalization %r, %g {axis = 2 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  %u = onnx.MatMul %n, %up : (!x, tensor<16x32xf32>) -> !h
  %e = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %e, %down : (!h, tensor<32x16xf32>) -> !x
  %y = onnx.Add %r, %d : (!x, !x) -> !x
  return %y : !x
}

// CHECK: dist.all_gather %{{.*}} dim 2 over <["cp"=2]>{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]
// CHECK: %[[O:.*]] = onnx.MatMul {{.*}}sharding = [{}, {"cp"=2}, {}], partial = {"tp"=2: sum}
// CHECK: dist.reduce_scatter %[[O]] dim 1 over <["tp"=2]> "sum"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"cp"=2 + "tp"=2}, {}]
// CHECK: %[[N:.*]] = onnx.RMSNormalization
// CHECK: dist.all_gather %[[N]] dim 1 over <["tp"=2]>{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"cp"=2}, {}]
