// A text may come in parts where a position follows from it and those before it: by places
// that a mask of ones says, not by where in its step it is; where attention shows none behind.
// RUN: shard-opt %s --split-input-file --shardc-recover-caches --shardc-batch-rows="page=16" | FileCheck %s

!mask = tensor<?x?xi64, #dist.value<dims = [b, past + s]>>
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!rows = tensor<?xi64, #dist.value<dims = [b]>>
!first = tensor<?x1xi64, #dist.value<dims = [b, 1]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!at = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!column = tensor<?x1x?x1xi64, #dist.value<dims = [b, 1, s, 1]>>
!float = tensor<?x1x?x1xf32, #dist.value<dims = [b, 1, s, 1]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
!pairs = tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, past + s]>>

// CHECK-LABEL: func.func @places(
// CHECK-SAME: attributes {onnx.causal, onnx.page = 16 : i64}
func.func @places(%mask: !mask {onnx.name = "attention_mask"}, %past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %lengths = onnx.ReduceSum %mask {axes = array<i64: 1>, keepdims = 0 : i64} : (!mask) -> !rows
  %size = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<i64>
  %before = onnx.Sub %lengths, %size : (!rows, tensor<i64>) -> !rows
  %first = onnx.Reshape %before : (!rows) -> !first
  %range = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !s
  %at = onnx.Add %first, %range : (!first, !s) -> !at
  %column = onnx.Reshape %at : (!at) -> !column
  %float = onnx.Cast %column : (!column) -> !float
  %key = onnx.Add %new, %float : (!new, !float) -> !new
  %present = onnx.Concat %past, %key {axis = 2 : i64} : (!past, !new) -> !present
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.LessOrEqual %keys, %column : (!keys, !column) -> !pairs
  %y = onnx.Attention %new, %present, %present, %seen {scale = 5.000000e-01 : f32} : (!new, !present, !present, !pairs) -> !new
  return %y, %present : !new, !present
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!column = tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, s, 1]>>
!float = tensor<1x1x?x1xf32, #dist.value<dims = [1, 1, s, 1]>>

// Keys are made of where in its step a position is.
// CHECK-LABEL: func.func @of_the_step(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @of_the_step(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %range = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !s
  %column = onnx.Reshape %range : (!s) -> !column
  %float = onnx.Cast %column : (!column) -> !float
  %key = onnx.Add %new, %float : (!new, !float) -> !new
  %present = onnx.Concat %past, %key {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Attention %new, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present) -> !new
  return %y, %present : !new, !present
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!column = tensor<?x1xi64, #dist.value<dims = [s, 1]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
!pairs = tensor<?x?xi1, #dist.value<dims = [s, past + s]>>

// One position more than those before it.
// CHECK-LABEL: func.func @one_behind(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @one_behind(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %range = onnx.Range {bounds = #dist.dims<[past + 1, 1]>} : () -> !s
  %column = onnx.Reshape %range : (!s) -> !column
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.LessOrEqual %keys, %column : (!keys, !column) -> !pairs
  %y = onnx.Attention %new, %present, %present, %seen {scale = 5.000000e-01 : f32} : (!new, !present, !present, !pairs) -> !new
  return %y, %present : !new, !present
}

// -----

// Biases from a table by logarithms of distances, as those of T5; keys of an encoder are the same in each step.
!x = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, s, 8]>>
!states = tensor<?x?x4x8xf32, #dist.value<dims = [b, e, 4, 8]>>
!cross = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, e, 8]>>
!past = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past, 8]>>
!present = tensor<?x4x?x8xf32, #dist.value<dims = [b, 4, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!column = tensor<?x1xi64, #dist.value<dims = [s, 1]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
!pairs = tensor<?x?xi64, #dist.value<dims = [s, past + s]>>
!flags = tensor<?x?xi1, #dist.value<dims = [s, past + s]>>
!floats = tensor<?x?xf32, #dist.value<dims = [s, past + s]>>
!looked = tensor<?x?x4xf32, #dist.value<dims = [s, past + s, 4]>>
!bias = tensor<4x?x?xf32, #dist.value<dims = [4, s, past + s]>>

// CHECK-LABEL: func.func @biases(
// CHECK-SAME: attributes {onnx.causal, onnx.page = 16 : i64}
func.func @biases(%x: !x {onnx.name = "x"}, %states: !states {onnx.name = "states"}, %past: !past {onnx.name = "past"}) -> (!x, !present) {
  %present = onnx.Concat %past, %x {axis = 2 : i64} : (!past, !x) -> !present
  %places = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> !s
  %column = onnx.Reshape %places : (!s) -> !column
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %distance = onnx.Sub %column, %keys : (!column, !keys) -> !pairs
  %float = onnx.Cast %distance : (!pairs) -> !floats
  %log = onnx.Log %float : (!floats) -> !floats
  %bucket = onnx.Cast %log : (!floats) -> !pairs
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %isFar = onnx.Greater %distance, %one : (!pairs, tensor<i64>) -> !flags
  %zero = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %chosen = onnx.Where %isFar, %bucket, %zero : (!flags, !pairs, tensor<i64>) -> !pairs
  %table = onnx.Weight {file = "w.bin", length = 512 : i64, name = "table", offset = 0 : i64} : () -> tensor<32x4xf32>
  %looked = onnx.Gather %table, %chosen {axis = 0 : i64} : (tensor<32x4xf32>, !pairs) -> !looked
  %bias = onnx.Transpose %looked {perm = array<i64: 2, 0, 1>} : (!looked) -> !bias
  %isLater = onnx.Less %distance, %zero : (!pairs, tensor<i64>) -> !flags
  %far = onnx.Constant {value = dense<-1.0e9> : tensor<f32>} : () -> tensor<f32>
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %hidden = onnx.Where %isLater, %far, %none : (!flags, tensor<f32>, tensor<f32>) -> !floats
  %mask = onnx.Add %bias, %hidden : (!bias, !floats) -> !bias
  %y = onnx.Attention %x, %present, %present, %mask {scale = 5.000000e-01 : f32} : (!x, !present, !present, !bias) -> !x
  %cross = onnx.Transpose %states {perm = array<i64: 0, 2, 1, 3>} : (!states) -> !cross
  %z = onnx.Attention %y, %cross, %cross {scale = 5.000000e-01 : f32} : (!x, !cross, !cross) -> !x
  return %z, %present : !x, !present
}
