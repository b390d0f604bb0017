// Each rank holds a summand: all_reduce. The sharded function stays for
// verify-phase, and the local one names it.
// RUN: shard-opt %s --shardc-partition | FileCheck %s

!whole = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
!partial = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {}], partial = {"tp"=2: sum}>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%p: !partial) -> !whole {
  %y = dist.reshard %p {why = "sum of the parts of down"} : !partial to !whole
  return %y : !whole
}

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[P:[^:]*]]: tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {}], partial = {"tp"=2: sum}, local = [n, 16]>>
// CHECK-SAME: attributes {dist.sharded = @stage0.sharded}
// CHECK: %[[Y:.*]] = dist.all_reduce %[[P]] over <["tp"=2]> "sum" {why = "sum of the parts of down"}
// CHECK: return %[[Y]] : tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {}], local = [n, 16]>>
// CHECK-LABEL: func.func private @stage0.sharded(
// CHECK: dist.reshard
