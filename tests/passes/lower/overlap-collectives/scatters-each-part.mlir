// A sum that is scattered over the sequence: a part of its rows is some of each
// rank's rows, so that each rank gets some of its own.
// RUN: shard-opt %s --shardc-overlap-collectives=parts=2 --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!a = !rt.view<f32, [1, 64, 128], [8192, 128, 1], 0>
!w = !rt.view<f32, [1, 128, 16], [0, 16, 1], 0>
!p = !rt.view<f32, [1, 64, 16], [1024, 16, 1], 0>
!y = !rt.view<f32, [1, 32, 16], [512, 16, 1], 0>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "w" "model.bin" at 0 length 16384 f32 <dims = [256, 16], sharding = [{"tp"=2}, {}], local = [128, 16]>
  %w = rt.view %0 : !w
  rt.ready
  %1 = rt.input 0 "a" f32 <dims = [1, 64, 256], sharding = [{}, {}, {"tp"=2}], local = [1, 64, 128]>
  %a = rt.view %1 : !a
  %2 = rt.alloc <[4096]>
  %p = rt.view %2 : !p
  rt.call "MatMul"(%a, %w : !a, !w) into(%p : !p) {} loc("down")
  %3 = rt.alloc <[2048]>
  %y = rt.view %3 : !y
  rt.collective "reduce_scatter" %p into %y over <["tp"=2]> {kind = "sum", dim = 1 : i64, value = #dist.value<dims = [1, 64, 16], sharding = [{}, {"tp"=2}, {}]>} : !p -> !y loc("down")
  rt.free %2
  rt.output 0 "y" %y <dims = [1, 64, 16], sharding = [{}, {"tp"=2}, {}], local = [1, 32, 16]> : !y
}

// CHECK-LABEL: rt.program @stage0
// Rows 0 to 15 of rank 0's part and 32 to 47, the same of rank 1's.
// CHECK: rt.call "MatMul"(%{{.*}}, %{{.*}} : !rt.view<f32, [1, 2, 16, 128], [{{.*}}, 4096, 128, 1], 0>, !rt.view<f32, [1, 2, 128, 16], [0, 0, 16, 1], 0>) into(%{{.*}} : !rt.view<f32, [1, 2, 16, 16], [512, 256, 16, 1], 0>)
// CHECK: rt.collective "reduce_scatter" %{{.*}} into %{{.*}} over <["tp"=2]> {dim = 1 : i64, flight = 0 : i64, kind = "sum", value = #dist.value<dims = [1, 2, 16, 16], sharding = [{}, {"tp"=2}, {}, {}]>} : <f32, [1, 2, 16, 16], [512, 256, 16, 1], 0> -> <f32, [1, 1, 16, 16], [{{.*}}, 16, 1], 0>
// CHECK: rt.call "MatMul"(%{{.*}}, %{{.*}} : !rt.view<f32, [1, 2, 16, 128], [{{.*}}, 4096, 128, 1], 2048>
// CHECK: rt.collective "reduce_scatter" {{.*}} -> <f32, [1, 1, 16, 16], [{{.*}}, 16, 1], 256>
// CHECK: rt.wait 0
