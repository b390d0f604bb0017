// No collective makes parts of a maximum of what is whole.
// RUN: shard-opt %s --shardc-partition --verify-diagnostics

!whole = tensor<8xf32, #dist.value<dims = [8], sharding = [{}]>>
!max = tensor<8xf32, #dist.value<dims = [8], sharding = [{}], partial = {"tp"=2: max}>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%x: !whole) -> !max {
  // expected-error @+1 {{has no collectives that make}}
  %y = dist.reshard %x : !whole to !max
  return %y : !max
}
