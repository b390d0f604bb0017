// Context parallelism: every rank has a part of the positions from the input to the
// output, and all weights; attention needs all keys and values. They go around zig-zag,
// since late positions see more of them; every rank gets some heads of all positions; or
// they are gathered.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s --check-prefix=RING
// RUN: shard-opt %s --shardc-propagate-shardings=context-mode=ulysses | FileCheck %s --check-prefix=HEADS
// RUN: shard-opt %s --shardc-propagate-shardings=context-mode=gather | FileCheck %s
// RUN: not shard-opt %s --shardc-propagate-shardings=context-mode=star 2>&1 | FileCheck %s --check-prefix=BAD

!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [batch, seq, 32]>>
!q = tensor<?x2x?x8xf32, #dist.value<dims = [batch, 2, seq, 8]>>
!s = tensor<?x?x2x8xf32, #dist.value<dims = [batch, seq, 2, 8]>>
dist.mesh @mesh <["cp"=2]>

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

// CHECK: func.func @main(%{{[^:]*}}: tensor<{{[^>]*}}sharding = [{}, {"cp"=2}, {}]>>)
// CHECK: onnx.Weight {{.*}}name = "wq"{{.*}}sharding = [{}, {}]>>
// CHECK: %[[Q:.*]] = onnx.Transpose {{.*}}-> tensor<{{[^>]*}}sharding = [{}, {}, {"cp"=2}, {}]>>
// CHECK: %[[KV:.*]] = dist.reshard %[[Q]] {why = "Attention needs it whole"}
// CHECK: onnx.Attention %[[Q]], %[[KV]], %[[KV]] {{.*}}-> tensor<{{[^>]*}}sharding = [{}, {}, {"cp"=2}, {}]>>
// CHECK-NOT: dist.reshard
// CHECK: return %{{.*}} : tensor<{{[^>]*}}sharding = [{}, {"cp"=2}, {}]>>

// RING: %[[Q:.*]] = onnx.Transpose {{.*}}-> tensor<{{[^>]*}}sharding = [{}, {}, {"cp"=2}, {}]>>
// RING: %[[Z:.*]] = dist.reshard %[[Q]] {{.*}} to tensor<{{[^>]*}}[(seq floordiv 2): ((seq floordiv 2):"cp"=2) | {{.*}}:-"cp"=2)]{{.*}}>>
// RING: %[[KV:.*]] = dist.ring %[[Z]] dim 2 over <["cp"=2]> steps [0, 1] {why = "Attention sees all of it in turn"} : {{.*}}sharding = [{}, {}, {}, {}]>>
// RING: %[[A:.*]] = onnx.Attention %[[Z]], %[[KV]], %[[KV]]
// RING: dist.reshard %[[A]] {{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {"cp"=2}, {}]>>
// RING-NOT: = dist.

// HEADS: %[[Q:.*]] = onnx.Transpose {{.*}}-> tensor<{{[^>]*}}sharding = [{}, {}, {"cp"=2}, {}]>>
// HEADS: %[[H:.*]] = dist.reshard %[[Q]] {{.*}} to tensor<{{[^>]*}}sharding = [{}, {"cp"=2}, {}, {}]>>
// HEADS: %[[A:.*]] = onnx.Attention %[[H]], %[[H]], %[[H]]
// HEADS: dist.reshard %[[A]] {{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {"cp"=2}, {}]>>
// HEADS-NOT: = dist.

// BAD: context-mode is "star", expected ring, ulysses or gather
