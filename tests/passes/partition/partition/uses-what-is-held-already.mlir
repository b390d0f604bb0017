// What a stage before sent in parts, to be put together, is wanted in these parts: nothing is put together.
// RUN: shard-opt %s --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!part = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {"tp"=2}]>>
!whole = tensor<?x16xf32, #dist.value<dims = [n, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["pp"=2, "tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-NEXT: %[[Y:.*]] = onnx.Relu %arg0
// CHECK-NEXT: dist.send %[[Y]] to 1 as 0
func.func @stage0(%x: !part) attributes {dist.outputs = array<i64>, dist.stage = 0 : i64} {
  %y = onnx.Relu %x : (!part) -> !part
  %whole = dist.reshard %y : !part to !whole
  %part = dist.reshard %whole : !whole to !part
  dist.send %part to 1 as 0 : !part
  return
}

// CHECK-LABEL: func.func @stage1(
// CHECK-NEXT: %[[PART:.*]] = dist.receive from 0 as 0
// CHECK-NEXT: %[[Z:.*]] = onnx.Relu %[[PART]]
// CHECK-NEXT: return %[[Z]]
func.func @stage1(%x: !part) -> !part attributes {dist.outputs = array<i64: 0>, dist.stage = 1 : i64} {
  %y = dist.receive from 0 as 0 : !part
  %whole = dist.reshard %y : !part to !whole
  %part = dist.reshard %whole : !whole to !part
  %z = onnx.Relu %part : (!part) -> !part
  return %z : !part
}
