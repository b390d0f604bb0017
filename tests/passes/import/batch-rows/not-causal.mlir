// What a text gets where it comes in parts is not what it gets whole.
// RUN: shard-opt %s --split-input-file --shardc-recover-caches --shardc-batch-rows="page=16" | FileCheck %s

// Frequencies change with the number of keys, beyond any size that is small.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!col4 = tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, s, 1]>>
!colf = tensor<1x1x?x1xf32, #dist.value<dims = [1, 1, s, 1]>>
!ang = tensor<1x1x?x8xf32, #dist.value<dims = [1, 1, s, 8]>>
// CHECK-LABEL: func.func @ntk(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @ntk(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %total = onnx.Symbols {values = #dist.dims<[past + s]>} : () -> tensor<i64>
  %limit = onnx.Constant {value = dense<4096> : tensor<i64>} : () -> tensor<i64>
  %isLong = onnx.Greater %total, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %long = onnx.Constant {value = dense<[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]> : tensor<8xf32>} : () -> tensor<8xf32>
  %short = onnx.Constant {value = dense<[8.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]> : tensor<8xf32>} : () -> tensor<8xf32>
  %freq = onnx.Where %isLong, %long, %short : (tensor<i1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %range = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> !s
  %col = onnx.Reshape %range : (!s) -> !col4
  %colf = onnx.Cast %col : (!col4) -> !colf
  %ang = onnx.Mul %colf, %freq : (!colf, tensor<8xf32>) -> !ang
  %cos = onnx.Cos %ang : (!ang) -> !ang
  %k = onnx.Mul %new, %cos : (!new, !ang) -> !new
  %present = onnx.Concat %past, %k {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Attention %new, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present) -> !new
  return %y, %present : !new, !present
}

// -----

// Queries from place 64 on see all keys.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!column = tensor<?x1xi64, #dist.value<dims = [s, 1]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
!pairs = tensor<?x?xi1, #dist.value<dims = [s, past + s]>>
// CHECK-LABEL: func.func @far_keys(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @far_keys(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %range = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> !s
  %column = onnx.Reshape %range : (!s) -> !column
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.LessOrEqual %keys, %column : (!keys, !column) -> !pairs
  %far = onnx.Constant {value = dense<64> : tensor<i64>} : () -> tensor<i64>
  %own = onnx.GreaterOrEqual %column, %far : (!column, tensor<i64>) -> tensor<?x1xi1, #dist.value<dims = [s, 1]>>
  %both = onnx.Or %seen, %own : (!pairs, tensor<?x1xi1, #dist.value<dims = [s, 1]>>) -> !pairs
  %y = onnx.Attention %new, %present, %present, %both {scale = 5.000000e-01 : f32} : (!new, !present, !present, !pairs) -> !new
  return %y, %present : !new, !present
}

// -----

// A query sees the keys of its step alone.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!column = tensor<?x1xi64, #dist.value<dims = [s, 1]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
!pairs = tensor<?x?xi1, #dist.value<dims = [s, past + s]>>
// CHECK-LABEL: func.func @twolayer_fromstep(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @twolayer_fromstep(%past: !past {onnx.name = "past"}, %past2: !past {onnx.name = "past2"}, %new: !new {onnx.name = "new"}) -> (!new, !present, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %before = onnx.Symbols {values = #dist.dims<[past]>} : () -> tensor<i64>
  %range = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> !s
  %column = onnx.Reshape %range : (!s) -> !column
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.LessOrEqual %keys, %column : (!keys, !column) -> !pairs
  %own = onnx.GreaterOrEqual %keys, %before : (!keys, tensor<i64>) -> tensor<?xi1, #dist.value<dims = [past + s]>>
  %both = onnx.And %seen, %own : (!pairs, tensor<?xi1, #dist.value<dims = [past + s]>>) -> !pairs
  %y = onnx.Attention %new, %present, %present, %both {scale = 5.000000e-01 : f32} : (!new, !present, !present, !pairs) -> !new
  %present2 = onnx.Concat %past2, %y {axis = 2 : i64} : (!past, !new) -> !present
  return %y, %present, %present2 : !new, !present, !present
}

// -----

// The same of one that is causal, too.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
// CHECK-LABEL: func.func @causal_mask_step(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @causal_mask_step(%past: !past {onnx.name = "past"}, %p2: !past {onnx.name = "past2"}, %new: !new {onnx.name = "new"}) -> (!new, !present, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %n = onnx.Symbols {values = #dist.dims<[past]>} : () -> tensor<i64>
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.GreaterOrEqual %keys, %n : (!keys, tensor<i64>) -> tensor<?xi1, #dist.value<dims = [past + s]>>
  %y = onnx.Attention %new, %present, %present, %seen {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present, tensor<?xi1, #dist.value<dims = [past + s]>>) -> !new
  %present2 = onnx.Concat %p2, %y {axis = 2 : i64} : (!past, !new) -> !present
  return %y, %present, %present2 : !new, !present, !present
}

// -----

// Keys that a query sees are counted from the last of its step.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
// CHECK-LABEL: func.func @total_window(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @total_window(%past: !past {onnx.name = "past"}, %p2: !past {onnx.name = "past2"}, %new: !new {onnx.name = "new"}) -> (!new, !present, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %n = onnx.Symbols {values = #dist.dims<[past + s - 512]>} : () -> tensor<i64>
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.GreaterOrEqual %keys, %n : (!keys, tensor<i64>) -> tensor<?xi1, #dist.value<dims = [past + s]>>
  %y = onnx.Attention %new, %present, %present, %seen {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present, tensor<?xi1, #dist.value<dims = [past + s]>>) -> !new
  %present2 = onnx.Concat %p2, %y {axis = 2 : i64} : (!past, !new) -> !present
  return %y, %present, %present2 : !new, !present, !present
}

// -----

// An output is made of how many positions a step has.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
// CHECK-LABEL: func.func @output_of_step(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @output_of_step(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Attention %new, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present) -> !new
  %n = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<i64>
  %nf = onnx.Cast %n : (tensor<i64>) -> tensor<f32>
  %z = onnx.Mul %y, %nf : (!new, tensor<f32>) -> !new
  return %z, %present : !new, !present
}

// -----

// A token shows all keys.
!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!column = tensor<?x1xi64, #dist.value<dims = [s, 1]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
!pairs = tensor<?x?xi1, #dist.value<dims = [s, past + s]>>
!idc = tensor<?x1x?x1xi64, #dist.value<dims = [b, 1, s, 1]>>
!idm = tensor<?x1x?x1xi1, #dist.value<dims = [b, 1, s, 1]>>
!m4 = tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, past + s]>>
// CHECK-LABEL: func.func @image_ids(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @image_ids(%ids: !ids {onnx.name = "input_ids"}, %past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %range = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> !s
  %column = onnx.Reshape %range : (!s) -> !column
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.LessOrEqual %keys, %column : (!keys, !column) -> !pairs
  %image = onnx.Constant {value = dense<257152> : tensor<i64>} : () -> tensor<i64>
  %col = onnx.Reshape %ids : (!ids) -> !idc
  %is = onnx.Equal %col, %image : (!idc, tensor<i64>) -> !idm
  %both = onnx.Or %seen, %is : (!pairs, !idm) -> !m4
  %y = onnx.Attention %new, %present, %present, %both {scale = 5.000000e-01 : f32} : (!new, !present, !present, !m4) -> !new
  return %y, %present : !new, !present
}

// -----

// A token decides whether a key is made of its place in the step.
!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!f = tensor<?x1x?x1xf32, #dist.value<dims = [b, 1, s, 1]>>
// CHECK-LABEL: func.func @ids_eq_place(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @ids_eq_place(%ids: !ids {onnx.name = "input_ids"}, %past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %place = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> !s
  %instep = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !s
  %limit = onnx.Constant {value = dense<1000> : tensor<i64>} : () -> tensor<i64>
  %is = onnx.Less %ids, %limit : (!ids, tensor<i64>) -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
  %at = onnx.Where %is, %place, %instep : (tensor<?x?xi1, #dist.value<dims = [b, s]>>, !s, !s) -> !ids
  %r = onnx.Reshape %at : (!ids) -> tensor<?x1x?x1xi64, #dist.value<dims = [b, 1, s, 1]>>
  %f = onnx.Cast %r : (tensor<?x1x?x1xi64, #dist.value<dims = [b, 1, s, 1]>>) -> !f
  %k = onnx.Add %new, %f : (!new, !f) -> !new
  %present = onnx.Concat %past, %k {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Attention %new, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present) -> !new
  return %y, %present : !new, !present
}

// -----

// A mask that hides all keys alike hides none.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!bias = tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, s, past + s]>>
// CHECK-LABEL: func.func @uniform_bias(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @uniform_bias(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %c = onnx.Constant {value = dense<-2.0e4> : tensor<f32>} : () -> tensor<f32>
  %bias = onnx.Expand %c : (tensor<f32>) -> !bias
  %y = onnx.Attention %new, %present, %present, %bias {scale = 5.000000e-01 : f32} : (!new, !present, !present, !bias) -> !new
  return %y, %present : !new, !present
}

// -----

// The same beyond a number that stands nowhere: 3000 + 4096.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!s = tensor<?xi64, #dist.value<dims = [s]>>
!col4 = tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, s, 1]>>
!colf = tensor<1x1x?x1xf32, #dist.value<dims = [1, 1, s, 1]>>
!ang = tensor<1x1x?x8xf32, #dist.value<dims = [1, 1, s, 8]>>
// CHECK-LABEL: func.func @moved_limit(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @moved_limit(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %total = onnx.Symbols {values = #dist.dims<[past + s]>} : () -> tensor<i64>
  %limit = onnx.Constant {value = dense<4096> : tensor<i64>} : () -> tensor<i64>
  %some = onnx.Constant {value = dense<3000> : tensor<i64>} : () -> tensor<i64>
  %moved = onnx.Sub %total, %some : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %isLong = onnx.Greater %moved, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %long = onnx.Constant {value = dense<[1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]> : tensor<8xf32>} : () -> tensor<8xf32>
  %short = onnx.Constant {value = dense<[8.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0]> : tensor<8xf32>} : () -> tensor<8xf32>
  %freq = onnx.Where %isLong, %long, %short : (tensor<i1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %range = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> !s
  %col = onnx.Reshape %range : (!s) -> !col4
  %colf = onnx.Cast %col : (!col4) -> !colf
  %ang = onnx.Mul %colf, %freq : (!colf, tensor<8xf32>) -> !ang
  %cos = onnx.Cos %ang : (!ang) -> !ang
  %k = onnx.Mul %new, %cos : (!new, !ang) -> !new
  %present = onnx.Concat %past, %k {axis = 2 : i64} : (!past, !new) -> !present
  %y = onnx.Attention %new, %present, %present {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present) -> !new
  return %y, %present : !new, !present
}

// -----

// And through two numbers, of which neither is where it shows.
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
// CHECK-LABEL: func.func @moved_window(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @moved_window(%past: !past {onnx.name = "past"}, %p2: !past {onnx.name = "past2"}, %new: !new {onnx.name = "new"}) -> (!new, !present, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %n = onnx.Symbols {values = #dist.dims<[past + s]>} : () -> tensor<i64>
  %first = onnx.Constant {value = dense<300> : tensor<i64>} : () -> tensor<i64>
  %second = onnx.Constant {value = dense<212> : tensor<i64>} : () -> tensor<i64>
  %less = onnx.Sub %n, %first : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %from = onnx.Sub %less, %second : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %seen = onnx.GreaterOrEqual %keys, %from : (!keys, tensor<i64>) -> tensor<?xi1, #dist.value<dims = [past + s]>>
  %y = onnx.Attention %new, %present, %present, %seen {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present, tensor<?xi1, #dist.value<dims = [past + s]>>) -> !new
  %present2 = onnx.Concat %p2, %y {axis = 2 : i64} : (!past, !new) -> !present
  return %y, %present, %present2 : !new, !present, !present
}

// -----

// What cross-attention shows depends on how many positions a step has.
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

// CHECK-LABEL: func.func @cross_of_the_step(
// CHECK-NOT: onnx.causal
// CHECK: onnx.page = 16
func.func @cross_of_the_step(%x: !x {onnx.name = "x"}, %states: !states {onnx.name = "states"}, %past: !past {onnx.name = "past"}) -> (!x, !present) {
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
  %count = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<i64>
  %two = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %isPrompt = onnx.Greater %count, %two : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %shown = onnx.Reshape %isPrompt : (tensor<i1>) -> tensor<1x1x1x1xi1>
  %z = onnx.Attention %y, %cross, %cross, %shown {scale = 5.000000e-01 : f32} : (!x, !cross, !cross, tensor<1x1x1x1xi1>) -> !x
  return %z, %present : !x, !present
}
