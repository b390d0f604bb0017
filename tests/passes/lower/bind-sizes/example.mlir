// A step has one position: its heads lie behind each other already, nothing is copied.
// RUN: shard-opt %s --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" --shardc-bind-sizes | FileCheck %s
// RUN: shard-opt %s --shardc-fingerprint --shardc-partition --shardc-bind-sizes --shardc-lower --shardc-verify-phase=phase=lowered | FileCheck %s --check-prefix=BOUND
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s --check-prefix=OPEN

!x = tensor<?x?x4x8xf32, #dist.value<dims = [b, s, 4, 8], sharding = [{}, {}, {"tp"=2}, {}]>>
!t = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, s, 8], sharding = [{}, {"tp"=2}, {}, {}]>>
!y = tensor<?x4x?xf32, #dist.value<dims = [b, 4, 8 * s], sharding = [{}, {"tp"=2}, {}]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %arg0: tensor<?x1x2x8xf32, #dist.value<dims = [b, 1, 4, 8], sharding = [{}, {}, {"tp"=2}, {}], local = [b, 1, 2, 8]>>
// CHECK: onnx.Transpose {{.*}} -> tensor<?x2x1x8xf32
// CHECK: onnx.Reshape {{.*}} -> tensor<?x2x8xf32, #dist.value<dims = [b, 4, 8], sharding = [{}, {"tp"=2}, {}], local = [b, 2, 8]>>

// BOUND: rt.program
// BOUND-NOT: "Copy"
// BOUND: rt.call "Relu"

// OPEN: rt.call "Copy"
// OPEN: rt.call "Relu"
func.func @stage0(%x: !x {onnx.name = "x"}) -> !y
    attributes {onnx.when = {x = {dim = 1 : i64, size = 1 : i64}}} {
  %0 = onnx.Transpose %x {perm = array<i64: 0, 2, 1, 3>} : (!x) -> !t
  %1 = onnx.Reshape %0 : (!t) -> !y
  %2 = onnx.Relu %1 : (!y) -> !y
  return %2 : !y
}
