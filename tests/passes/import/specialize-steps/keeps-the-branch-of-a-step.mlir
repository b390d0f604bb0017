// Of a merged decoder the branch that appends is split in two, and keeps its condition.
// RUN: shard-opt %s --shardc-recover-caches --shardc-specialize-steps | FileCheck %s

!past = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>
!unread = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, p, 16]>>
!new = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
!present = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: attributes {onnx.when = {use_cache = false}}
func.func @main(%past: !unread {onnx.name = "past"}, %k: !new {onnx.name = "k"}) -> !new
    attributes {onnx.when = {use_cache = false}} {
  %present = onnx.Relu %k : (!new) -> !new
  return %present : !new
}

// CHECK-LABEL: func.func @main_1_decode(
// CHECK-SAME: onnx.when = {k = {dim = 2 : i64, size = 1 : i64}, use_cache = true}
// CHECK-LABEL: func.func @main_1_prefill(
// CHECK-SAME: attributes {onnx.profile = "prefill", onnx.when = {use_cache = true}}
func.func @main_1(%past: !past {onnx.name = "past"}, %k: !new {onnx.name = "k"}) -> !present
    attributes {onnx.when = {use_cache = true}} {
  %present = onnx.Concat %past, %k {axis = 2 : i64} : (!past, !new) -> !present
  return %present : !present
}
