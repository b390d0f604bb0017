// Queries and keys of one x: one product, whose rows have both, and views of each
// in them. The product that a norm reads elsewhere, and one of another x, stay.
// RUN: shard-opt %s --shardc-merge-products --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!x = !rt.view<f32, [seq, 128], [128, 1], 0>
!wq = !rt.view<f32, [128, 64], [64, 1], 0>
!wk = !rt.view<f32, [128, 32], [32, 1], 0>
!q = !rt.view<f32, [seq, 64], [64, 1], 0>
!k = !rt.view<f32, [seq, 32], [32, 1], 0>
!heads = !rt.view<f32, [2, seq, 16], [16, 32, 1], 0>
!last = !rt.view<f32, [1, 64], [64, 1], seq * 64 - 64>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "q" "model.bin" at 0 length 65536 f32 <dims = [128, 128], sharding = [{}, {"tp"=2}], local = [128, 64]>
  %wq = rt.view %0 : !wq
  %1 = rt.weight "k" "model.bin" at 65536 length 32768 f32 <dims = [128, 64], sharding = [{}, {"tp"=2}], local = [128, 32]>
  %wk = rt.view %1 : !wk
  %2 = rt.weight "o" "model.bin" at 98304 length 16384 f32 <dims = [64, 64], sharding = [{}, {}], local = [64, 64]>
  %wo = rt.view %2 : !rt.view<f32, [64, 64], [64, 1], 0>
  rt.ready
  %3 = rt.input 0 "x" f32 <dims = [seq, 128], sharding = [{}, {}], local = [seq, 128]>
  %x = rt.view %3 : !x
  %4 = rt.alloc <[seq * 256]>
  %q = rt.view %4 : !q
  rt.call "MatMul"(%x, %wq : !x, !wq) into(%q : !q) {} loc("q_proj")
  %5 = rt.alloc <[256]>
  %r = rt.view %5 : !rt.view<f32, [1, 64], [64, 1], 0>
  %last = rt.view %4 : !last
  rt.call "Relu"(%last : !last) into(%r : !rt.view<f32, [1, 64], [64, 1], 0>) {}
  rt.free %4
  %6 = rt.alloc <[seq * 128]>
  %k = rt.view %6 : !k
  rt.call "MatMul"(%x, %wk : !x, !wk) into(%k : !k) {} loc("k_proj")
  %7 = rt.alloc <[seq * 128]>
  %y = rt.view %7 : !rt.view<f32, [2, seq, 16], [seq * 16, 16, 1], 0>
  %heads = rt.view %6 : !heads
  rt.call "Relu"(%heads : !heads) into(%y : !rt.view<f32, [2, seq, 16], [seq * 16, 16, 1], 0>) {}
  rt.free %6
  %8 = rt.alloc <[256]>
  %z = rt.view %8 : !rt.view<f32, [1, 64], [64, 1], 0>
  rt.call "MatMul"(%r, %wo : !rt.view<f32, [1, 64], [64, 1], 0>, !rt.view<f32, [64, 64], [64, 1], 0>) into(%z : !rt.view<f32, [1, 64], [64, 1], 0>) {}
  rt.free %5
  rt.output 0 "y" %y <dims = [2, seq, 16], sharding = [{}, {}, {}], local = [2, seq, 16]> : !rt.view<f32, [2, seq, 16], [seq * 16, 16, 1], 0>
  rt.output 1 "z" %z <dims = [1, 64], sharding = [{}, {}], local = [1, 64]> : !rt.view<f32, [1, 64], [64, 1], 0>
}

// CHECK-LABEL: rt.program @stage0
// CHECK: %[[Q:.*]] = rt.weight "q"
// CHECK: %[[K:.*]] = rt.weight "k"
// CHECK: %[[JOINED:.*]] = rt.join %[[Q]], %[[K]] dim 1
// CHECK: %[[W:.*]] = rt.view %[[JOINED]] : <f32, [128, 96], [96, 1], 0>
// CHECK: %[[QK:.*]] = rt.alloc <[seq * 384]>
// CHECK-DAG: %[[ROWS:.*]] = rt.view %[[QK]] : <f32, [seq, 96], [96, 1], 0>
// CHECK-DAG: %[[LAST:.*]] = rt.view %[[QK]] : <f32, [1, 64], [64, 1], seq * 96 - 96>
// CHECK-DAG: %[[HEADS:.*]] = rt.view %[[QK]] : <f32, [2, seq, 16], [16, 96, 1], 64>
// CHECK: rt.call "MatMul"(%{{.*}}, %[[W]] : {{.*}}) into(%[[ROWS]] :
// CHECK: rt.call "Relu"(%[[LAST]] :
// CHECK-NOT: rt.free %[[QK]]
// CHECK: rt.call "Relu"(%[[HEADS]] :
// CHECK: rt.free %[[QK]]
// CHECK: rt.call "MatMul"({{.*}}!rt.view<f32, [64, 64], [64, 1], 0>)
// CHECK-NOT: "MatMul"
