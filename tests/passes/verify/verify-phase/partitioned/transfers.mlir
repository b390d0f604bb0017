// The programs of two stages must hold alike what they send and receive, not only their plans.
// RUN: shard-opt %s --split-input-file --shardc-verify-phase="phase=partitioned allows-unrecorded=true" --verify-diagnostics

!x = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>
!lx = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}], local = [4, 16]>>
!half = tensor<4x8xf32, #dist.value<dims = [4, 16], sharding = [{}, {"tp"=2}], local = [4, 8]>>
dist.mesh @mesh <["pp"=2, "tp"=2]>
func.func @stage0(%x: !lx) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>, dist.sharded = @stage0.sharded} {
  %0 = dist.slice %x : !lx -> !half
  // expected-note@+1 {{sent here}}
  dist.send %0 to 1 as 0 : !half
  return
}
func.func private @stage0.sharded(%x: !x) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>} {
  dist.send %x to 1 as 0 : !x
  return
}
func.func @stage1(%x: !lx) -> !lx attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>, dist.sharded = @stage1.sharded} {
  // expected-error@+1 {{does not fit its send}}
  %0 = dist.receive from 0 as 0 : !lx
  return %0 : !lx
}
func.func private @stage1.sharded(%x: !x) -> !x attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>} {
  %0 = dist.receive from 0 as 0 : !x
  return %0 : !x
}

// -----

!x = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>
!lx = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}], local = [4, 16]>>
dist.mesh @mesh <["pp"=2, "tp"=2]>
func.func @stage0(%x: !lx) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>, dist.sharded = @stage0.sharded} {
  dist.send %x to 1 as 0 : !lx
  // expected-error@+1 {{sends transfer 0 again}}
  dist.send %x to 1 as 0 : !lx
  return
}
func.func private @stage0.sharded(%x: !x) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>} {
  dist.send %x to 1 as 0 : !x
  return
}
func.func @stage1(%x: !lx) -> !lx attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>, dist.sharded = @stage1.sharded} {
  %0 = dist.receive from 0 as 0 : !lx
  return %0 : !lx
}
func.func private @stage1.sharded(%x: !x) -> !x attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>} {
  %0 = dist.receive from 0 as 0 : !x
  return %0 : !x
}
