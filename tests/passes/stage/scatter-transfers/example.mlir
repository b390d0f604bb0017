// Both ranks of a stage hold the sum; over InfiniBand each sends half of it.
// RUN: shard-opt %s --shardc-scatter-transfers="machine=h100:2x2 plan-sizes=batch=8,seq=4096" --shardc-verify-phase="phase=staged allows-unrecorded=true" | FileCheck %s
// Of a few positions the second step costs more than half of the first saves.
// RUN: shard-opt %s --shardc-scatter-transfers="machine=h100:2x2 plan-sizes=batch=1,seq=1" | FileCheck %s --check-prefix=WHOLE
// Inside of a node each rank has a fast link of its own.
// RUN: shard-opt %s --shardc-scatter-transfers="machine=h100:1x4 plan-sizes=batch=8,seq=4096" | FileCheck %s --check-prefix=WHOLE
// RUN: shard-opt %s --shardc-scatter-transfers | FileCheck %s --check-prefix=WHOLE

!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16], sharding = [{}, {}, {}]>>
dist.mesh @mesh <["pp"=2, "tp"=2]>

func.func @stage0(%x: !x) attributes {dist.outputs = array<i64>, dist.stage = 0 : i64} {
  %y = onnx.Relu %x : (!x) -> !x
  dist.send %y to 1 as 0 : !x
  return
}
func.func @stage1(%x: !x) -> !x attributes {dist.outputs = array<i64: 0>, dist.stage = 1 : i64} {
  %y = dist.receive from 0 as 0 : !x
  %z = onnx.Relu %y : (!x) -> !x
  return %z : !x
}

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[Y:.*]] = onnx.Relu
// CHECK: %[[PART:.*]] = dist.reshard %[[Y]] {why = "each rank sends a part to the next stage"}
// CHECK-SAME: to tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16], sharding = [{}, {}, {"tp"=2}]>>
// CHECK: dist.send %[[PART]] to 1 as 0
// CHECK-LABEL: func.func @stage1(
// CHECK: %[[PART:.*]] = dist.receive from 0 as 0
// CHECK: %[[Y:.*]] = dist.reshard %[[PART]]
// CHECK: onnx.Relu %[[Y]]

// WHOLE: dist.receive
// WHOLE-NOT: dist.reshard
