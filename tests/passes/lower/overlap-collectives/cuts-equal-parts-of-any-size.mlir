// Parts of a symbolic sequence are equal where it is even: then they are cut
// like those of a known one. Where it is odd the cut has no rows, and all rows
// come behind it, as a whole.
// RUN: shard-opt %s --shardc-overlap-collectives=parts=2 --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!a = !rt.view<f32, [1, seq, 128], [seq * 128, 128, 1], 0>
!w = !rt.view<f32, [1, 128, 16], [0, 16, 1], 0>
!p = !rt.view<f32, [1, seq, 16], [seq * 16, 16, 1], 0>
!y = !rt.view<f32, [1, ((seq * @tp) floordiv 2) * -1 + ((seq * @tp + seq) floordiv 2), 16], [((seq * @tp) floordiv 2) * -16 + ((seq * @tp + seq) floordiv 2) * 16, 16, 1], 0>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "w" "model.bin" at 0 length 16384 f32 <dims = [256, 16], sharding = [{"tp"=2}, {}], local = [128, 16]>
  %w = rt.view %0 : !w
  rt.ready
  %1 = rt.input 0 "a" f32 <dims = [1, seq, 256], sharding = [{}, {}, {"tp"=2}], local = [1, seq, 128]>
  %a = rt.view %1 : !a
  %2 = rt.alloc <[seq * 64]>
  %p = rt.view %2 : !p
  rt.call "MatMul"(%a, %w : !a, !w) into(%p : !p) {} loc("down")
  %3 = rt.alloc <[((seq * @tp) floordiv 2) * -64 + ((seq * @tp + seq) floordiv 2) * 64]>
  %y = rt.view %3 : !y
  rt.collective "reduce_scatter" %p into %y over <["tp"=2]> {kind = "sum", dim = 1 : i64, value = #dist.value<dims = [1, seq, 16], sharding = [{}, {"tp"=2}, {}]>} : !p -> !y loc("down")
  rt.free %2
  rt.output 0 "y" %y <dims = [1, seq, 16], sharding = [{}, {"tp"=2}, {}], local = [1, ((seq * @tp) floordiv 2) * -1 + ((seq * @tp + seq) floordiv 2), 16]> : !y
}

// CHECK-LABEL: rt.program @stage0
// A quarter of the rows of each rank's half: none where seq is odd.
// CHECK: rt.call "MatMul"({{.*}} : !rt.view<f32, [1, 2, min((seq floordiv 2) * (seq mod 2) * -1 + (seq floordiv 2), max(1, {{.*}})), 128], [seq * 128, (seq floordiv 2) * (seq mod 2) * -128 + (seq floordiv 2) * 128, 128, 1], 0>
// CHECK: rt.collective "reduce_scatter" {{.*}} flight = 0 {{.*}} sharding = [{}, {"tp"=2}, {}, {}]
// CHECK: rt.call "MatMul"
// CHECK: rt.collective "reduce_scatter" {{.*}} flight = 1 {{.*}} sharding = [{}, {"tp"=2}, {}, {}]
// All rows where it is odd: seq - 2 * (seq floordiv 2) * (1 - seq mod 2).
// CHECK: rt.call "MatMul"(%{{.*}}, %{{.*}} : !rt.view<f32, [(seq floordiv 2) * (seq mod 2) * 2 + seq - (seq floordiv 2) * 2, 128], [128, 1], 0>
// CHECK: rt.collective "reduce_scatter" {{.*}}value = #dist.value<dims = [1, (seq floordiv 2) * (seq mod 2) * 2 + seq - (seq floordiv 2) * 2, 16], sharding = [{}, {"tp"=2}, {}]>
// CHECK: rt.wait
