// A plan says where stages begin, wherever the work would cut; it is kept as it was.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-cut-stages='keep-plan=true plan={{"cuts": {"main": [{"node": "third", "op": "MatMul"}]}}}' --shardc-verify-phase="phase=staged allows-unrecorded=true" | FileCheck %s
// RUN: not shard-opt %s --shardc-propagate-shardings --shardc-cut-stages='plan={{"cuts": {"main": [{"node": "thrid", "op": "MatMul"}]}}}' 2>&1 | FileCheck %s --check-prefix=NODE
// RUN: not shard-opt %s --shardc-propagate-shardings --shardc-cut-stages='plan={{"cuts": {"main": [{"node": "first", "op": "MatMul"}]}}}' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not shard-opt %s --shardc-propagate-shardings --shardc-cut-stages='plan={{"cuts": {"main": []}}}' 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not shard-opt %s --shardc-propagate-shardings --shardc-cut-stages='plan={{"cuts": {"other": []}}}' 2>&1 | FileCheck %s --check-prefix=PROFILE

!x = tensor<?x16xf32, #dist.value<dims = [n, 16]>>
dist.mesh @mesh <["pp"=2]>

// CHECK: dist.stages = "{\22cuts\22:{\22main\22:[{\22node\22:\22third\22,\22op\22:\22MatMul\22}]}}"
// CHECK-LABEL: func.func @stage0(
// CHECK-COUNT-2: onnx.MatMul
// CHECK: dist.send
// CHECK-LABEL: func.func @stage1(
// CHECK-COUNT-1: onnx.MatMul
// NODE: the plan: "cuts" of @main: thrid: the model has no such MatMul that reads weights; the nearest one is third
// EMPTY: the plan: "cuts" of @main: first: comes before, or with, the beginning of the stage before it
// COUNT: the plan: "cuts" of @main: has 0 cuts, expected 1 for 2 stages
// PROFILE: the plan: "cuts" has @other, which the model has not
func.func @main(%x: !x) -> !x {
  %a = onnx.Weight {name = "a", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %b = onnx.Weight {name = "b", file = "w", offset = 1024 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %c = onnx.Weight {name = "c", file = "w", offset = 2048 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %0 = onnx.MatMul %x, %a : (!x, tensor<16x16xf32>) -> !x loc("first")
  %1 = onnx.MatMul %0, %b : (!x, tensor<16x16xf32>) -> !x loc("second")
  %2 = onnx.MatMul %1, %c : (!x, tensor<16x16xf32>) -> !x loc("third")
  return %2 : !x
}
