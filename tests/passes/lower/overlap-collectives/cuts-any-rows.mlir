// Rows of a batch of sequences are one dim to an all_reduce, whatever their
// number. What the prediction calls too few to split stays in the first part.
// RUN: shard-opt %s --shardc-overlap-collectives="target=cuda plan-sizes=b=8,s=2048" --shardc-verify-phase="phase=lowered allows-unrecorded=true" | FileCheck %s
// RUN: shard-opt %s --shardc-overlap-collectives="target=cuda plan-sizes=b=1,s=128" | FileCheck %s --check-prefix=FEW

!a = !rt.view<f16, [b, s, 4096], [s * 4096, 4096, 1], 0>
!w = !rt.view<f16, [b, 4096, 8192], [0, 8192, 1], 0>
!p = !rt.view<f16, [b, s, 8192], [s * 8192, 8192, 1], 0>
!y = !rt.view<f16, [b, s, 8192], [s * 8192, 8192, 1], 0, replicated>

dist.mesh @mesh <["tp"=2]>
rt.program @stage0 {
  %0 = rt.weight "w" "model.bin" at 0 length 134217728 f16 <dims = [8192, 8192], sharding = [{"tp"=2}, {}], local = [4096, 8192]>
  %w = rt.view %0 : !w
  rt.ready
  %1 = rt.input 0 "a" f16 <dims = [b, s, 8192], sharding = [{}, {}, {"tp"=2}], local = [b, s, 4096]>
  %a = rt.view %1 : !a
  %2 = rt.alloc <[b * s * 16384]>
  %p = rt.view %2 : !p
  rt.call "MatMul"(%a, %w : !a, !w) into(%p : !p) {} loc("down")
  %3 = rt.alloc <[b * s * 16384]>
  %y = rt.view %3 : !y
  rt.collective "all_reduce" %p into %y over <["tp"=2]> {kind = "sum"} : !p -> !y loc("down")
  rt.free %2
  rt.output 0 "y" %y <dims = [b, s, 8192], sharding = [{}, {}, {}], local = [b, s, 8192]> : !y
}

// CHECK: rt.program @stage0 attributes {rt.overlap = [{after = {{.*}}, before = {{.*}}, kind = "all_reduce", node = "down", parts = [[PARTS:[2-8]]] : i64, rows = 16384 : i64}]}
// CHECK: rt.alloc <[min(b * s, max({{[0-9]+}}, ((b * s + {{[0-9]}}) floordiv [[PARTS]]))) * 16384]>
// CHECK: rt.call "MatMul"(%{{.*}}, %{{.*}} : !rt.view<f16, [min(b * s, {{.*}}, 4096], [4096, 1], 0>, !rt.view<f16, [4096, 8192], [8192, 1], 0>)
// CHECK: rt.collective "all_reduce" {{.*}} {flight = 0 : i64, kind = "sum"}
// CHECK: rt.call "MatMul"
// CHECK: rt.collective "all_reduce"

// FEW: parts = 1 : i64, rows = 128 : i64
// FEW-COUNT-1: rt.call "MatMul"
// FEW-NOT: rt.call
