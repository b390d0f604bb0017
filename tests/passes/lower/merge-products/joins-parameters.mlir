// Weights of four bits with scales of their own and one zero point for all; two
// products with a bias, of which a constant is one. What is not there before the
// run, or differs in kind, keeps them apart.
// RUN: shard-opt %s --shardc-merge-products --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!x = !rt.view<f32, [seq, 64], [64, 1], 0>
!wq = !rt.view<ui4, [64, 48], [1, 64], 0>
!wk = !rt.view<ui4, [64, 32], [1, 64], 0>
!sq = !rt.view<f32, [2, 48], [1, 2], 0>
!sk = !rt.view<f32, [2, 32], [1, 2], 0>
!zq = !rt.view<ui4, [1, 48], [0, 0], 0>
!zk = !rt.view<ui4, [1, 32], [0, 0], 0>
!q = !rt.view<f32, [seq, 48], [48, 1], 0>
!k = !rt.view<f32, [seq, 32], [32, 1], 0>

dist.mesh @mesh <["tp"=1]>

// CHECK-LABEL: rt.program @quantised
// CHECK: %[[Q:.*]] = rt.weight "q"
// CHECK: %[[K:.*]] = rt.weight "k"
// CHECK: %[[W:.*]] = rt.join %[[Q]], %[[K]] dim 0
// CHECK: %[[S:.*]] = rt.alloc <[640]> persistent
// CHECK-DAG: %[[FIRST:.*]] = rt.view %[[S]] : <f32, [48, 2], [2, 1], 0>
// CHECK-DAG: %[[SECOND:.*]] = rt.view %[[S]] : <f32, [32, 2], [2, 1], 96>
// CHECK-DAG: %[[SCALES:.*]] = rt.view %[[S]] : <f32, [2, 80], [1, 2], 0>
// CHECK: rt.call "Copy"({{.*}}<f32, [48, 2], [2, 1], 0>) into(%[[FIRST]] :
// CHECK: rt.call "Copy"({{.*}}<f32, [32, 2], [2, 1], 0>) into(%[[SECOND]] :
// CHECK: rt.ready
// CHECK: rt.call "MatMulDequantized"(%{{.*}}, %{{.*}}, %[[SCALES]], %{{.*}} : {{.*}}, !rt.view<ui4, [64, 80], [1, 64], 0>, {{.*}}, !rt.view<ui4, [1, 80], [0, 0], 0>) into({{.*}}<f32, [seq, 80], [80, 1], 0>) {axis = array<i64: 0>, block_size = #dist.dims<[32]>}
// CHECK-NOT: "MatMulDequantized"
rt.program @quantised {
  %0 = rt.weight "q" "m" at 0 length 1536 ui4 <dims = [48, 64], sharding = [{}, {}], local = [48, 64]>
  %wq = rt.view %0 : !wq
  %1 = rt.weight "k" "m" at 1536 length 1024 ui4 <dims = [32, 64], sharding = [{}, {}], local = [32, 64]>
  %wk = rt.view %1 : !wk
  %2 = rt.weight "sq" "m" at 2560 length 384 f32 <dims = [48, 2], sharding = [{}, {}], local = [48, 2]>
  %sq = rt.view %2 : !sq
  %3 = rt.weight "sk" "m" at 2944 length 256 f32 <dims = [32, 2], sharding = [{}, {}], local = [32, 2]>
  %sk = rt.view %3 : !sk
  %4 = rt.constant dense<8> : tensor<1xui4> <dims = [1], sharding = [{}], local = [1]>
  %zq = rt.view %4 : !zq
  %5 = rt.constant dense<8> : tensor<1xui4> <dims = [1], sharding = [{}], local = [1]>
  %zk = rt.view %5 : !zk
  rt.ready
  %6 = rt.input 0 "x" f32 <dims = [seq, 64], sharding = [{}, {}], local = [seq, 64]>
  %x = rt.view %6 : !x
  %7 = rt.alloc <[seq * 192]>
  %q = rt.view %7 : !q
  rt.call "MatMulDequantized"(%x, %wq, %sq, %zq : !x, !wq, !sq, !zq) into(%q : !q) {axis = array<i64: 0>, block_size = #dist.dims<[32]>}
  rt.free %7
  %8 = rt.alloc <[seq * 128]>
  %k = rt.view %8 : !k
  rt.call "MatMulDequantized"(%x, %wk, %sk, %zk : !x, !wk, !sk, !zk) into(%k : !k) {axis = array<i64: 0>, block_size = #dist.dims<[32]>}
  rt.free %8
}

!v = !rt.view<f32, [64, 32], [32, 1], 0>
!b = !rt.view<f32, [seq, 32], [0, 1], 0>

// CHECK-LABEL: rt.program @biased
// CHECK: rt.join %{{.*}}, %{{.*}} dim 1
// CHECK: %[[B:.*]] = rt.alloc <[256]> persistent
// CHECK-COUNT-2: rt.call "Copy"
// CHECK: rt.ready
// CHECK: rt.call "Linear"({{.*}}, !rt.view<f32, [64, 64], [64, 1], 0>, !rt.view<f32, [seq, 64], [0, 1], 0>) into({{.*}}<f32, [seq, 64], [64, 1], 0>) {}
// CHECK-NEXT: rt.free
// CHECK-COUNT-2: rt.call "Linear"({{.*}}, !rt.view<f32, [64, 32], [32, 1], 0>
// CHECK-NOT: "Linear"
rt.program @biased {
  %0 = rt.weight "a" "m" at 0 length 8192 f32 <dims = [64, 32], sharding = [{}, {}], local = [64, 32]>
  %a = rt.view %0 : !v
  %1 = rt.weight "b" "m" at 8192 length 8192 f32 <dims = [64, 32], sharding = [{}, {}], local = [64, 32]>
  %b = rt.view %1 : !v
  %2 = rt.weight "c" "m" at 16384 length 8192 f32 <dims = [64, 32], sharding = [{}, {}], local = [64, 32]>
  %c = rt.view %2 : !v
  %3 = rt.weight "d" "m" at 24576 length 8192 f32 <dims = [64, 32], sharding = [{}, {}], local = [64, 32]>
  %d = rt.view %3 : !v
  %4 = rt.weight "e" "m" at 32768 length 128 f32 <dims = [32], sharding = [{}], local = [32]>
  %bias = rt.view %4 : !b
  %5 = rt.constant dense<1.0> : tensor<32xf32> <dims = [32], sharding = [{}], local = [32]>
  %ones = rt.view %5 : !b
  rt.ready
  %6 = rt.input 0 "x" f32 <dims = [seq, 64], sharding = [{}, {}], local = [seq, 64]>
  %x = rt.view %6 : !x
  %7 = rt.input 1 "y" f32 <dims = [32], sharding = [{}], local = [32]>
  %given = rt.view %7 : !b
  %8 = rt.alloc <[seq * 128]>
  %p = rt.view %8 : !k
  rt.call "Linear"(%x, %a, %bias : !x, !v, !b) into(%p : !k) {}
  rt.free %8
  %9 = rt.alloc <[seq * 128]>
  %q = rt.view %9 : !k
  rt.call "Linear"(%x, %b, %ones : !x, !v, !b) into(%q : !k) {}
  rt.free %9
  %10 = rt.alloc <[seq * 128]>
  %r = rt.view %10 : !k
  rt.call "Linear"(%x, %c, %given : !x, !v, !b) into(%r : !k) {}
  rt.free %10
  %11 = rt.alloc <[seq * 128]>
  %s = rt.view %11 : !k
  rt.call "Linear"(%x, %d, %bias : !x, !v, !b) into(%s : !k) {activation = "relu"}
  rt.free %11
}
