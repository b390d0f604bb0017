// The prompt computes what a step appends to, and what it reads for good: past 1
// is read where the prompt reads what it returns, before the same weight.
// RUN: shard-opt %s --shardc-recover-caches | FileCheck %s

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!all = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>
!cross = tensor<?x4xf32, #dist.value<dims = [e, 4]>>
!t = tensor<4x?xf32, #dist.value<dims = [4, e]>>
!w = tensor<4x4xf32>

// CHECK-LABEL: func.func @prompt(
// CHECK-SAME: {onnx.cache = {dim = 0 : i64, input = 2 : i64, kind = "set"}}
// CHECK-SAME: {onnx.cache = {input = 3 : i64, kind = "set"}}
// CHECK-SAME: {onnx.cache = {input = 4 : i64, kind = "set"}}
// CHECK-SAME: attributes
func.func @prompt(%x: !new, %encoder: !cross, %past0: !past, %past1: !past, %past2: !past)
    -> (!new, !cross, !cross, !cross, !cross) attributes {onnx.when = {use_cache = false}} {
  %k = onnx.Relu %x : (!new) -> !new
  %cross = onnx.Neg %encoder : (!cross) -> !cross
  %other = onnx.Abs %encoder : (!cross) -> !cross
  %v1 = onnx.Weight {name = "v1", file = "f", offset = 0 : i64, length = 64 : i64} : () -> !w
  %v2 = onnx.Weight {name = "v2", file = "f", offset = 64 : i64, length = 64 : i64} : () -> !w
  %t = onnx.Transpose %cross {perm = array<i64: 1, 0>} : (!cross) -> !t
  %b = onnx.Transpose %t {perm = array<i64: 1, 0>} : (!t) -> !cross
  %s = onnx.Sin %b : (!cross) -> !cross
  %y = onnx.MatMul %s, %v1 : (!cross, !w) -> !cross
  %o = onnx.Sin %other : (!cross) -> !cross
  %z = onnx.MatMul %o, %v2 : (!cross, !w) -> !cross
  return %k, %cross, %other, %y, %z : !new, !cross, !cross, !cross, !cross
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: {onnx.cache = {dim = 0 : i64, input = 2 : i64, kind = "append"}}
// CHECK-SAME: {onnx.cache = {input = 3 : i64, kind = "keep"}}
// CHECK-SAME: {onnx.cache = {input = 4 : i64, kind = "keep"}}
// CHECK-SAME: attributes
func.func @step(%x: !new, %encoder: !cross, %past0: !past, %past1: !cross, %past2: !cross)
    -> (!all, tensor<0x4xf32>, !cross, !cross, !cross) attributes {onnx.when = {use_cache = true}} {
  %k = onnx.Relu %x : (!new) -> !new
  %all = onnx.Concat %past0, %k {axis = 0 : i64} : (!past, !new) -> !all
  %v1 = onnx.Weight {name = "v1", file = "f", offset = 0 : i64, length = 64 : i64} : () -> !w
  %v2 = onnx.Weight {name = "v2", file = "f", offset = 64 : i64, length = 64 : i64} : () -> !w
  %s = onnx.Sin %past1 : (!cross) -> !cross
  %y = onnx.MatMul %s, %v1 : (!cross, !w) -> !cross
  %o = onnx.Sin %past2 : (!cross) -> !cross
  %z = onnx.MatMul %o, %v2 : (!cross, !w) -> !cross
  %none = onnx.Constant {value = dense<> : tensor<0x4xf32>} : () -> tensor<0x4xf32>
  return %all, %none, %past2, %y, %z : !all, tensor<0x4xf32>, !cross, !cross, !cross
}
