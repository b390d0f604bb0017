// Each rank sums what it has and divides by what all have; the sum of the parts
// is the mean.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x10xf32, #dist.value<dims = [s, 10], sharding = [{}, {"tp"=4}]>>
!p = tensor<?x1xf32, #dist.value<dims = [s, 1], sharding = [{}, {}], partial = {"tp"=4: sum}>>
!y = tensor<?x1xf32, #dist.value<dims = [s, 1], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=4]>

func.func @stage0(%x: !x) -> !y {
  %m = onnx.ReduceMean %x {axes = array<i64: 1>} : (!x) -> !p
  %y = dist.reshard %m : !p to !y
  return %y : !y
}

// CHECK: rt.call "ReduceMean"({{.*}} {axes = array<i64: 1>, count = #dist.dims<[10]>}
// CHECK: rt.collective "all_reduce" {{.*}} over <["tp"=4]> {kind = "sum"}
