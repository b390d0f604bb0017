// Weights stay quantised, whole and as they are; what counts their blocks
// follows the dim that is summed, which is the last but one of any number.
// RUN: shard-opt %s --shardc-overlap-collectives=parts=2 --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s

!a = !rt.view<f32, [1, 64, 128], [8192, 128, 1], 0>
!w = !rt.view<ui8, [1, 128, 16], [0, 16, 1], 0>
!s = !rt.view<f32, [1, 4, 16], [0, 16, 1], 0>
!p = !rt.view<f32, [1, 64, 16], [1024, 16, 1], 0>
!y = !rt.view<f32, [1, 32, 16], [512, 16, 1], 0>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "w" "model.bin" at 0 length 4096 ui8 <dims = [256, 16], sharding = [{"tp"=2}, {}], local = [128, 16]>
  %w = rt.view %0 : !w
  %1 = rt.weight "s" "model.bin" at 4096 length 512 f32 <dims = [8, 16], sharding = [{"tp"=2}, {}], local = [4, 16]>
  %s = rt.view %1 : !s
  rt.ready
  %2 = rt.input 0 "a" f32 <dims = [1, 64, 256], sharding = [{}, {}, {"tp"=2}], local = [1, 64, 128]>
  %a = rt.view %2 : !a
  %3 = rt.alloc <[4096]>
  %p = rt.view %3 : !p
  rt.call "MatMulDequantized"(%a, %w, %s : !a, !w, !s) into(%p : !p) {axis = array<i64: 1>, block_size = #dist.dims<[32]>} loc("down")
  %4 = rt.alloc <[2048]>
  %y = rt.view %4 : !y
  rt.collective "reduce_scatter" %p into %y over <["tp"=2]> {kind = "sum", dim = 1 : i64, value = #dist.value<dims = [1, 64, 16], sharding = [{}, {"tp"=2}, {}]>} : !p -> !y loc("down")
  rt.free %3
  rt.output 0 "y" %y <dims = [1, 64, 16], sharding = [{}, {"tp"=2}, {}], local = [1, 32, 16]> : !y
}

// CHECK-LABEL: rt.program @stage0
// CHECK: rt.call "MatMulDequantized"({{.*}} : !rt.view<f32, [1, 2, 16, 128], {{[^>]*}}, 0>, !rt.view<ui8, [1, 2, 128, 16], [0, 0, 16, 1], 0>, !rt.view<f32, [1, 2, 4, 16], [0, 0, 16, 1], 0>) into({{.*}}) {axis = array<i64: 2>, block_size = #dist.dims<[32]>}
// CHECK: rt.collective "reduce_scatter" {{.*}} flight = 0
// CHECK: rt.call "MatMulDequantized"({{.*}} : !rt.view<f32, [1, 2, 16, 128], {{[^>]*}}, 2048>, {{.*}} {axis = array<i64: 2>
// CHECK: rt.collective "reduce_scatter"
