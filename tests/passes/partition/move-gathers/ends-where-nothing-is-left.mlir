// What is gathered was cut from a whole that is there: of cut and gather nothing
// is left, though the producer has another operand to look at.
// RUN: shard-opt %s --shardc-partition --shardc-move-gathers --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!x = tensor<2x2xf32, #dist.value<dims = [2, 2], sharding = [{}, {}]>>
!part = tensor<2x2xf32, #dist.value<dims = [2, 2], sharding = [{"tp"=2}, {}]>>
!both = tensor<4x2xf32, #dist.value<dims = [4, 2], sharding = [[2: (2:"tp"=2) | 2: (2)], {}]>>
!y = tensor<4x2xf32, #dist.value<dims = [4, 2], sharding = [{}, {}]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[A:[^:]*]]: tensor{{.*}}, %[[B:[^:]*]]: tensor
// CHECK-NEXT: %[[Y:.*]] = onnx.Concat %[[A]], %[[B]]
// CHECK-NEXT: return %[[Y]]
func.func @stage0(%a: !x, %b: !x) -> !y {
  %part = dist.reshard %a : !x to !part
  %both = onnx.Concat %part, %b {axis = 0 : i64} : (!part, !x) -> !both
  %y = dist.reshard %both : !both to !y
  return %y : !y
}
