// What is appended to has to come out and to be able to grow; what is handed on
// has to be computed somewhere.
// RUN: shard-opt %s --split-input-file --shardc-recover-caches | FileCheck %s

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!present = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>

// CHECK-LABEL: func.func @not_an_output(
// CHECK-NOT: onnx.cache
func.func @not_an_output(%past: !past, %x: !new) -> !present {
  %all = onnx.Concat %past, %x {axis = 0 : i64} : (!past, !new) -> !present
  %y = onnx.Relu %all : (!present) -> !present
  return %y : !present
}

// -----

!fixed = tensor<1x4xf32>

// CHECK-LABEL: func.func @fixed_size(
// CHECK-NOT: onnx.cache
func.func @fixed_size(%past: !fixed, %x: !fixed) -> tensor<2x4xf32> {
  %all = onnx.Concat %past, %x {axis = 0 : i64} : (!fixed, !fixed) -> tensor<2x4xf32>
  return %all : tensor<2x4xf32>
}

// -----

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>

// CHECK-LABEL: func.func @handed_on(
// CHECK-NOT: onnx.cache
func.func @handed_on(%past: !past) -> (!past, !past) {
  %y = onnx.Relu %past : (!past) -> !past
  return %y, %past : !past, !past
}

// -----

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!present = tensor<?x4xf32, #dist.value<dims = [past + s, 4]>>

// The other branch computes present from past in another way.
// CHECK-LABEL: func.func @step(
// CHECK-NOT: onnx.cache
func.func @step(%past: !past, %x: !new) -> !present attributes {onnx.when = {use_cache = true}} {
  %all = onnx.Concat %past, %x {axis = 0 : i64} : (!past, !new) -> !present
  return %all : !present
}
func.func @other(%past: !past, %x: !new) -> !past attributes {onnx.when = {use_cache = false}} {
  %y = onnx.Relu %past : (!past) -> !past
  return %y : !past
}

// -----

!past = tensor<?x4xf32, #dist.value<dims = [past, 4]>>
!new = tensor<?x4xf32, #dist.value<dims = [e, 4]>>
!w = tensor<4x4xf32>

// Two layers with the same weights: which past is which is not known.
// CHECK-LABEL: func.func @shared_prompt(
// CHECK-NOT: onnx.cache
func.func @shared_prompt(%e: !new, %past0: !past, %past1: !past) -> (!new, !new, !new, !new) {
  %w = onnx.Weight {name = "w", file = "f", offset = 0 : i64, length = 64 : i64} : () -> !w
  %k0 = onnx.Neg %e : (!new) -> !new
  %k1 = onnx.Abs %e : (!new) -> !new
  %y0 = onnx.MatMul %k0, %w : (!new, !w) -> !new
  %y1 = onnx.MatMul %k1, %w : (!new, !w) -> !new
  return %k0, %k1, %y0, %y1 : !new, !new, !new, !new
}
func.func @shared_step(%e: !new, %past0: !past, %past1: !past) -> (tensor<0x4xf32>, tensor<0x4xf32>, !past, !past) {
  %w = onnx.Weight {name = "w", file = "f", offset = 0 : i64, length = 64 : i64} : () -> !w
  %y0 = onnx.MatMul %past0, %w : (!past, !w) -> !past
  %y1 = onnx.MatMul %past1, %w : (!past, !w) -> !past
  %none = onnx.Constant {value = dense<> : tensor<0x4xf32>} : () -> tensor<0x4xf32>
  return %none, %none, %y0, %y1 : tensor<0x4xf32>, tensor<0x4xf32>, !past, !past
}
