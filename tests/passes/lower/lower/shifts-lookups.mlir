// Rows of the vocabulary are split unevenly: each rank knows its first row and
// how many there are in all; the rest comes out as zeros.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!ids = tensor<?xi64, #dist.value<dims = [s], sharding = [{}]>>
!table = tensor<10x4xf32, #dist.value<dims = [10, 4], sharding = [{"tp"=4}, {}]>>
!part = tensor<?x4xf32, #dist.value<dims = [s, 4], sharding = [{}, {}], partial = {"tp"=4: sum}>>
!x = tensor<?x4xf32, #dist.value<dims = [s, 4], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=4]>

func.func @stage0(%ids: !ids) -> !x {
  %t = onnx.Weight {name = "table", file = "w", offset = 0 : i64, length = 160 : i64} : () -> !table
  %p = onnx.Gather %t, %ids {axis = 0 : i64} : (!table, !ids) -> !part
  %y = dist.reshard %p : !part to !x
  return %y : !x
}

// CHECK: rt.weight "table" {{.*}} local = [((@tp * 10) floordiv 4) * -1 + ((@tp * 10 + 10) floordiv 4), 4]>
// CHECK: rt.call "Gather"({{.*}} {axis = array<i64: 0>, lookup = #dist.dims<[((@tp * 10) floordiv 4), 10]>}
// CHECK: rt.collective "all_reduce" {{.*}} over <["tp"=4]> {kind = "sum"}
