// What mixes positions of a row, other than attention to a cache, has no step of rows.
// RUN: shard-opt %s --split-input-file --shardc-recover-caches --shardc-batch-rows --verify-diagnostics

// expected-error@+1 {{has no step of rows: it has no caches}}
func.func @main(%x: tensor<?xf32, #dist.value<dims = [s]>>) -> tensor<?xf32, #dist.value<dims = [s]>> {
  return %x : tensor<?xf32, #dist.value<dims = [s]>>
}

// -----

// expected-error@+1 {{has no step of rows: "bias" has past elements, expected as many as there are new positions, or as many as there are keys}}
func.func @main(%past: tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>> {onnx.name = "past"}, %new: tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>> {onnx.name = "new"}, %bias: tensor<?xf32, #dist.value<dims = [past]>> {onnx.name = "bias"}) -> tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>> {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>, tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>) -> tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
  return %present : tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
}

// -----

func.func @main(%past: tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>> {onnx.name = "past"}, %new: tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>> {onnx.name = "new"}, %w: tensor<?x8x?xf32, #dist.value<dims = [b, 8, s]>> {onnx.name = "w"}) -> (tensor<?x2x?x?xf32, #dist.value<dims = [b, 2, s, s]>>, tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>, tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>) -> tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
  %v = onnx.Reshape %w : (tensor<?x8x?xf32, #dist.value<dims = [b, 8, s]>>) -> tensor<?x1x8x?xf32, #dist.value<dims = [b, 1, 8, s]>>
  // expected-error@+1 {{has no place in a step of rows of different lengths: its result is not one for each new position}}
  %y = onnx.MatMul %new, %v : (tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>, tensor<?x1x8x?xf32, #dist.value<dims = [b, 1, 8, s]>>) -> tensor<?x2x?x?xf32, #dist.value<dims = [b, 2, s, s]>>
  return %y, %present : tensor<?x2x?x?xf32, #dist.value<dims = [b, 2, s, s]>>, tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
}

// -----

!q = tensor<?x?x4x8xf32, #dist.value<dims = [b, s, 4, 8]>>
!qf = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, s * 4, 8]>>
!p1 = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, past, 8]>>
!n1 = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, s, 8]>>
!pr1 = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, past + s, 8]>>
func.func @main(%q: !q {onnx.name = "q"}, %past: !p1 {onnx.name = "past"}, %new: !n1 {onnx.name = "new"}) -> (!q, !pr1) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!p1, !n1) -> !pr1
  %f = onnx.Reshape %q : (!q) -> !qf
  // expected-error@+1 {{has no place in a step of rows of different lengths: its queries are not the new positions of each head}}
  %y = onnx.Attention %f, %present, %present {scale = 5.000000e-01 : f32} : (!qf, !pr1, !pr1) -> !qf
  %z = onnx.Reshape %y : (!qf) -> !q
  return %z, %present : !q, !pr1
}

// -----

!q = tensor<?x?x4x8xf32, #dist.value<dims = [b, s, 4, 8]>>
!p1 = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, past, 8]>>
!n1 = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, s, 8]>>
!pr1 = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, past + s, 8]>>
func.func @main(%q: !q {onnx.name = "q"}, %past: !p1 {onnx.name = "past"}, %new: !n1 {onnx.name = "new"}) -> (!q, !pr1) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!p1, !n1) -> !pr1
  // expected-error@+1 {{has no place in a step of rows of different lengths: its queries are not the new positions of each head}}
  %y = onnx.Attention %q, %present, %present {scale = 5.000000e-01 : f32} : (!q, !pr1, !pr1) -> !q
  return %y, %present : !q, !pr1
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
!k2 = tensor<4x?xi64, #dist.value<dims = [4, past + s]>>
!kf = tensor<?xi64, #dist.value<dims = [past * 4 + s * 4]>>
!k2b = tensor<?x4xi64, #dist.value<dims = [past + s, 4]>>
!k1 = tensor<?x1xi64, #dist.value<dims = [past + s, 1]>>
!kk = tensor<1x?xi64, #dist.value<dims = [1, past + s]>>
func.func @main(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %four = onnx.Constant {value = dense<[[0],[1],[2],[3]]> : tensor<4x1xi64>} : () -> tensor<4x1xi64>
  %t = onnx.Add %keys, %four : (!keys, tensor<4x1xi64>) -> !k2
  // expected-error@+1 {{has no place in a step of rows of different lengths: its dims count positions behind something else}}
  %f = onnx.Reshape %t : (!k2) -> !kf
  %u = onnx.Reshape %f : (!kf) -> !k2b
  %sum = onnx.ReduceMax %u {axes = array<i64: 1>} : (!k2b) -> !k1
  %row = onnx.Reshape %sum : (!k1) -> !kk
  %c = onnx.Constant {value = dense<6> : tensor<i64>} : () -> tensor<i64>
  %m = onnx.Less %row, %c : (!kk, tensor<i64>) -> tensor<1x?xi1, #dist.value<dims = [1, past + s]>>
  %y = onnx.Attention %new, %present, %present, %m {scale = 5.000000e-01 : f32} : (!new, !present, !present, tensor<1x?xi1, #dist.value<dims = [1, past + s]>>) -> !new
  return %y, %present : !new, !present
}

// -----

!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
!keys = tensor<?xi64, #dist.value<dims = [past + s]>>
func.func @main(%past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (!new, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  %n = onnx.Symbols {values = #dist.dims<[past + s]>} : () -> tensor<i64>
  %c = onnx.Constant {value = dense<100> : tensor<i64>} : () -> tensor<i64>
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> !keys
  %left = onnx.Sub %n, %keys : (tensor<i64>, !keys) -> !keys
  // expected-error@+1 {{has no place in a step of rows of different lengths: it divides by what a key is, and a row may have no such key}}
  %d = onnx.Div %c, %left : (tensor<i64>, !keys) -> !keys
  %seen = onnx.Greater %d, %n : (!keys, tensor<i64>) -> tensor<?xi1, #dist.value<dims = [past + s]>>
  %y = onnx.Attention %new, %present, %present, %seen {causal_offset = #dist.dims<[past]>, is_causal = 1 : i64, scale = 5.000000e-01 : f32} : (!new, !present, !present, tensor<?xi1, #dist.value<dims = [past + s]>>) -> !new
  return %y, %present : !new, !present
}

// -----

// A reduction of keys that reduces the batch as well.
!mask = tensor<?x?xi64, #dist.value<dims = [b, past + s]>>
!past = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past, 8]>>
!new = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, s, 8]>>
!present = tensor<?x2x?x8xf32, #dist.value<dims = [b, 2, past + s, 8]>>
func.func @main(%mask: !mask {onnx.name = "attention_mask"}, %past: !past {onnx.name = "past"}, %new: !new {onnx.name = "new"}) -> (tensor<i64>, !present) {
  %present = onnx.Concat %past, %new {axis = 2 : i64} : (!past, !new) -> !present
  // expected-error@+1 {{has no place in a step of rows of different lengths: it mixes rows of the batch}}
  %all = onnx.ReduceSum %mask {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (!mask) -> tensor<i64>
  return %all, %present : tensor<i64>, !present
}
