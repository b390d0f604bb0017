// Where memory comes page by page, what is taken of a cache is its front: the dim
// that grows lies outside of all others, also where the caller gives past.
// RUN: shard-opt %s --shardc-fingerprint --shardc-partition --shardc-lower=target=cuda --shardc-verify-phase=phase=lowered | shard-opt | FileCheck %s
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s --check-prefix=HOST

!new = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, s, 8], sharding = [{}, {"tp"=2}, {}, {}]>>
!past = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, p, 8], sharding = [{}, {"tp"=2}, {}, {}]>>
!all = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, p + s, 8], sharding = [{}, {"tp"=2}, {}, {}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK: rt.input 0 "" f32 {{.*}} cache 2 first
// CHECK: %[[MEMORY:.*]] = rt.alloc <[b * max(p + s, "capacity of caches") * 64]>
// CHECK-DAG: rt.view %[[MEMORY]] : <f32, [b, 2, p, 8], [16, 8, b * 16, 1], 0>
// CHECK-DAG: rt.view %[[MEMORY]] : <f32, [b, 2, s, 8], [16, 8, b * 16, 1], b * p * 16>
// HOST: rt.input 0 "" f32 {{.*}} cache 2{{$}}
// HOST-NEXT: rt.view {{.*}} : <f32, [b, 2, p, 8], [max(p, "capacity of caches") * 16, max(p, "capacity of caches") * 8, 8, 1], 0>
func.func @step(%past: !past, %x: !new)
    -> (!all {onnx.cache = {input = 0 : i64, kind = "append", dim = 2 : i64}}) {
  %all = onnx.Concat %past, %x {axis = 2 : i64} : (!past, !new) -> !all
  return %all : !all
}
