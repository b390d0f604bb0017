// A product that adds is cut with all that has its rows: a residual as it lies,
// a bias that is repeated for each row.
// RUN: shard-opt %s --shardc-overlap-collectives=parts=2 --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!a = !rt.view<f32, [64, 128], [128, 1], 0>
!w = !rt.view<f32, [128, 256], [256, 1], 0>
!c = !rt.view<f32, [64, 256], [0, 1], 0>
!p = !rt.view<f32, [64, 256], [256, 1], 0>
!y = !rt.view<f32, [64, 256], [256, 1], 0, replicated>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "w" "model.bin" at 0 length 262144 f32 <dims = [256, 256], sharding = [{"tp"=2}, {}], local = [128, 256]>
  %w = rt.view %0 : !w
  %1 = rt.weight "c" "model.bin" at 262144 length 1024 f32 <dims = [256], sharding = [{}], local = [256]>
  %c = rt.view %1 : !c
  rt.ready
  %2 = rt.input 0 "a" f32 <dims = [64, 256], sharding = [{}, {"tp"=2}], local = [64, 128]>
  %a = rt.view %2 : !a
  %3 = rt.input 1 "r" f32 <dims = [64, 256], sharding = [{}, {}], local = [64, 256]>
  %r = rt.view %3 : !p
  %4 = rt.alloc <[65536]>
  %p = rt.view %4 : !p
  rt.call "Linear"(%a, %w, %c, %r : !a, !w, !c, !p) into(%p : !p) {activation = "relu"} loc("down")
  %5 = rt.alloc <[65536]>
  %y = rt.view %5 : !y
  rt.collective "all_reduce" %p into %y over <["tp"=2]> {kind = "sum"} : !p -> !y
  rt.free %4
  rt.output 0 "y" %y <dims = [64, 256], sharding = [{}, {}], local = [64, 256]> : !y
}

// CHECK: rt.call "Linear"({{.*}} : !rt.view<f32, [32, 128], [128, 1], 0>, {{.*}}, !rt.view<f32, [32, 256], [0, 1], 0>, !rt.view<f32, [32, 256], [256, 1], 0>) into({{.*}}) {activation = "relu"}
// CHECK: rt.collective "all_reduce" {{.*}} {flight = 0 : i64
// CHECK: rt.call "Linear"({{.*}} : !rt.view<f32, [32, 128], [128, 1], 4096>, {{.*}}, !rt.view<f32, [32, 256], [0, 1], 0>, !rt.view<f32, [32, 256], [256, 1], 8192>) into({{.*}}) {activation = "relu"}
// CHECK: rt.collective "all_reduce"
