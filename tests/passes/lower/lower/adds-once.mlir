// The first way of the group keeps its value: `present` is 1 there, else 0.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<16xf32, #dist.value<dims = [16], sharding = [{}]>>
!p = tensor<16xf32, #dist.value<dims = [16], sharding = [{}], partial = {"tp"=2: sum}>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%b: !x, %s: !p) -> !x {
  %o = dist.reshard %b : !x to !p
  %a = onnx.Add %o, %s : (!p, !p) -> !p
  %y = dist.reshard %a : !p to !x
  return %y : !x
}

// CHECK: rt.call "Once"({{.*}} {present = #dist.dims<[min(@tp, 1) * -1 + 1]>}
// CHECK: rt.call "Add"
// CHECK: rt.collective "all_reduce"
