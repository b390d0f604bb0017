// A product and the sum over ranks behind it, in two parts by rows: the first
// part's sum runs beside the second part's product. Each part has a buffer of its
// own before the sum; the result is one, of which parts are windows.
// RUN: shard-opt %s --shardc-overlap-collectives=parts=2 --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!a = !rt.view<f32, [64, 128], [128, 1], 0>
!w = !rt.view<f32, [128, 256], [256, 1], 0>
!p = !rt.view<f32, [64, 256], [256, 1], 0>
!y = !rt.view<f32, [64, 256], [256, 1], 0, replicated>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "w" "model.bin" at 0 length 262144 f32 <dims = [256, 256], sharding = [{"tp"=2}, {}], local = [128, 256]>
  %w = rt.view %0 : !w
  rt.ready
  %1 = rt.input 0 "a" f32 <dims = [64, 256], sharding = [{}, {"tp"=2}], local = [64, 128]>
  %a = rt.view %1 : !a
  %2 = rt.alloc <[65536]>
  %p = rt.view %2 : !p
  rt.call "MatMul"(%a, %w : !a, !w) into(%p : !p) {} loc("down")
  %3 = rt.alloc <[65536]>
  %y = rt.view %3 : !y
  rt.collective "all_reduce" %p into %y over <["tp"=2]> {kind = "sum"} : !p -> !y loc("down")
  rt.free %2
  rt.output 0 "y" %y <dims = [64, 256], sharding = [{}, {}], local = [64, 256]> : !y
}

// CHECK-LABEL: rt.program @stage0
// CHECK: %[[A1:.*]] = rt.view %{{.*}} : <f32, [32, 128], [128, 1], 4096>
// CHECK: %[[A0:.*]] = rt.view %{{.*}} : <f32, [32, 128], [128, 1], 0>
// CHECK: %[[Y:.*]] = rt.alloc <[65536]>
// CHECK: %[[Y1:.*]] = rt.view %[[Y]] : <f32, [32, 256], [256, 1], 8192, replicated>
// CHECK: %[[Y0:.*]] = rt.view %[[Y]] : <f32, [32, 256], [256, 1], 0, replicated>
// CHECK: %[[P0:.*]] = rt.alloc <[32768]>
// CHECK: rt.call "MatMul"(%[[A0]], %{{.*}}) into(%[[P0V:.*]] : !rt.view<f32, [32, 256], [256, 1], 0>)
// CHECK: rt.collective "all_reduce" %[[P0V]] into %[[Y0]] over <["tp"=2]> {flight = 0 : i64, kind = "sum"}
// CHECK: %[[P1:.*]] = rt.alloc <[32768]>
// CHECK: rt.call "MatMul"(%[[A1]], %{{.*}}) into(
// CHECK: rt.collective "all_reduce" %{{.*}} into %[[Y1]] over <["tp"=2]> {kind = "sum"}
// CHECK: rt.free %[[P1]]
// CHECK: rt.wait 0 for %[[P0V]] into %[[Y0]]
// CHECK: rt.free %[[P0]]
// CHECK: rt.output 0 "y"
