// There is one stage for now.
// RUN: shard-opt %s --shardc-cut-stages | FileCheck %s

!x = tensor<8x16xf32, #dist.value<dims = [8, 16], sharding = [{}, {}]>>

func.func @main(%x: !x) -> !x {
  return %x : !x
}

// CHECK: func.func @stage0(
