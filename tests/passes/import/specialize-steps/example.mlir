// What is appended to the caches is the sequence; a step of decoding is a run in which it
// has one position. Both functions are alike, the step comes first.
// RUN: shard-opt %s --shardc-recover-caches --shardc-specialize-steps --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!past = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>
!new = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
!present = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>

// CHECK-LABEL: func.func @main_decode(
// CHECK-SAME: onnx.cache = {dim = 2 : i64, input = 0 : i64, kind = "append"}
// CHECK-SAME: attributes {onnx.profile = "decode", onnx.when = {ids = {dim = 1 : i64, size = 1 : i64}}}
// CHECK: onnx.Concat
// CHECK-LABEL: func.func @main_prefill(
// CHECK-SAME: onnx.cache = {dim = 2 : i64, input = 0 : i64, kind = "append"}
// CHECK-SAME: attributes {onnx.profile = "prefill"}
// CHECK: onnx.Concat
func.func @main(%past: !past {onnx.name = "past"}, %ids: !ids {onnx.name = "ids"}, %k: !new {onnx.name = "k"}) -> !present {
  %present = onnx.Concat %past, %k {axis = 2 : i64} : (!past, !new) -> !present
  return %present : !present
}
