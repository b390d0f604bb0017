// Each value of an input that decides a branch has a function of its own.
// RUN: shard-opt %s --shardc-specialize-branches | FileCheck %s
// RUN: shard-opt %s --shardc-specialize-branches --shardc-infer-shapes --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s --check-prefix=INFERRED

!u = tensor<*x!onnx.unknown>
!x = tensor<?x4xf32, #dist.value<dims = [n, 4]>>
!past = tensor<?x4xf32, #dist.value<dims = [n, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: attributes {onnx.when = {use_cache = false}}
// CHECK-NEXT: %[[OFF:.*]] = onnx.Constant {value = dense<false> : tensor<1xi1>}
// CHECK-NEXT: onnx.Cast %[[OFF]]
// CHECK-LABEL: func.func @main_1(
// CHECK-SAME: attributes {onnx.when = {use_cache = true}}
// CHECK-NEXT: onnx.Constant {value = dense<true> : tensor<1xi1>}

// What only the other branch uses says nothing of sizes.
// INFERRED-LABEL: func.func @main(
// INFERRED-SAME: dims = [n, 4]
// INFERRED-SAME: dims = ["past.dim0", 4]
// INFERRED-NEXT: %[[Y:.*]] = onnx.Relu %arg0
// INFERRED-NEXT: return %[[Y]]
// INFERRED-LABEL: func.func @main_1(
// INFERRED-NEXT: %[[Y:.*]] = onnx.Add %arg0, %arg1
// INFERRED-NEXT: return %[[Y]]
func.func @main(%x: !x {onnx.name = "x"}, %past: !past {onnx.name = "past"}, %use: tensor<1xi1> {onnx.name = "use_cache"}) -> (!u) {
  %c = onnx.Cast %use {to = 9 : i64} : (tensor<1xi1>) -> !u
  %n = onnx.Not %c : (!u) -> !u
  %y = onnx.If %n : (!u) -> !u {
    %a = onnx.Relu %x : (!x) -> !u
    onnx.Yield %a : !u
  } else {
    %b = onnx.Add %x, %past : (!x, !past) -> !u
    onnx.Yield %b : !u
  }
  return %y : !u
}
