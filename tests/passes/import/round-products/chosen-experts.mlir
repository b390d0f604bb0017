// Where a TopK chooses, an ArgMax that others read, or a comparison with the largest, attention stays: another number of queries rounds otherwise, and another expert might be chosen.
// RUN: shard-opt %s --split-input-file --shardc-round-products | FileCheck %s

!h = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, s, 8]>>
!k = tensor<1x2x?x2xf32, #dist.value<dims = [1, 2, s, 2]>>
!i = tensor<1x2x?x2xi64, #dist.value<dims = [1, 2, s, 2]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.Attention
// CHECK-NOT: operand_bits
// CHECK: onnx.TopK
func.func @main(%q: !h {onnx.name = "q"}) -> (!k {onnx.name = "y"}, !i {onnx.name = "i"}) {
  %a = onnx.Attention %q, %q, %q : (!h, !h, !h) -> !h
  %y, %i = onnx.TopK %a {axis = -1 : i64, k = 2 : i64} : (!h) -> (!k, !i)
  return %y, %i : !k, !i
}

// -----

!h = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, s, 8]>>
!i = tensor<1x2x?xi64, #dist.value<dims = [1, 2, s]>>
!w = tensor<1x2x?x4xf32, #dist.value<dims = [1, 2, s, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.Attention
// CHECK-NOT: operand_bits
// CHECK: onnx.ArgMax
func.func @main(%q: !h {onnx.name = "q"}) -> (!w {onnx.name = "y"}) {
  %a = onnx.Attention %q, %q, %q : (!h, !h, !h) -> !h
  %i = onnx.ArgMax %a {axis = -1 : i64, keepdims = 0 : i64} : (!h) -> !i
  %w = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "w", offset = 0 : i64} : () -> tensor<8x4xf32>
  %y = onnx.Gather %w, %i {axis = 0 : i64} : (tensor<8x4xf32>, !i) -> !w
  return %y : !w
}

// -----

// A token that is an output chooses nothing.

!h = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, s, 8]>>
!i = tensor<1x2x?xi64, #dist.value<dims = [1, 2, s]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.Attention {{.*}} {operand_bits = 16 : i64}
func.func @main(%q: !h {onnx.name = "q"}) -> (!i {onnx.name = "i"}) {
  %a = onnx.Attention %q, %q, %q : (!h, !h, !h) -> !h
  %i = onnx.ArgMax %a {axis = -1 : i64, keepdims = 0 : i64} : (!h) -> !i
  return %i : !i
}

// -----

// Nor does one that is cast to what it is as an output.

!h = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, s, 8]>>
!i = tensor<1x2x?xi64, #dist.value<dims = [1, 2, s]>>
!j = tensor<1x2x?xi32, #dist.value<dims = [1, 2, s]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.Attention {{.*}} {operand_bits = 16 : i64}
func.func @main(%q: !h {onnx.name = "q"}) -> (!j {onnx.name = "j"}) {
  %a = onnx.Attention %q, %q, %q : (!h, !h, !h) -> !h
  %i = onnx.ArgMax %a {axis = -1 : i64, keepdims = 0 : i64} : (!h) -> !i
  %j = onnx.Cast %i {to = 6 : i64} : (!i) -> !j
  return %j : !j
}

// -----

// A router of one expert may compare its scores with the largest.

!x = tensor<?x8xf32, #dist.value<dims = [s, 8]>>
!e = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!m = tensor<?x1xf32, #dist.value<dims = [s, 1]>>
!b = tensor<?x4xi1, #dist.value<dims = [s, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.MatMul {{.*}} {operand_bits = 16 : i64}
// CHECK: onnx.MatMul
// CHECK-NOT: operand_bits
// CHECK: onnx.ReduceMax
func.func @main(%x: !x {onnx.name = "x"}) -> (!e {onnx.name = "y"}) {
  %w = onnx.Weight {file = "m.onnx", length = 256 : i64, name = "w", offset = 0 : i64} : () -> tensor<8x8xf32>
  %r = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "r", offset = 256 : i64} : () -> tensor<8x4xf32>
  %h = onnx.MatMul %x, %w : (!x, tensor<8x8xf32>) -> !x
  %s = onnx.MatMul %h, %r : (!x, tensor<8x4xf32>) -> !e
  %m = onnx.ReduceMax %s {axes = array<i64: 1>, keepdims = 1 : i64} : (!e) -> !m
  %b = onnx.Equal %s, %m : (!e, !m) -> !b
  %y = onnx.Where %b, %s, %m : (!b, !e, !m) -> !e
  return %y : !e
}

// -----

// The product that experts are chosen by stays as it is; the one in front of it does not.

!x = tensor<?x8xf32, #dist.value<dims = [s, 8]>>
!e = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!v = tensor<?x2xf32, #dist.value<dims = [s, 2]>>
!k = tensor<?x2xi64, #dist.value<dims = [s, 2]>>
!o = tensor<?x2x8xf32, #dist.value<dims = [s, 2, 8]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.MatMul {{.*}} {operand_bits = 16 : i64}
// CHECK: onnx.MatMul
// CHECK-NOT: operand_bits
// CHECK: onnx.Softmax
func.func @main(%x: !x {onnx.name = "x"}) -> (!v {onnx.name = "y"}, !o {onnx.name = "o"}) {
  %w = onnx.Weight {file = "m.onnx", length = 256 : i64, name = "w", offset = 0 : i64} : () -> tensor<8x8xf32>
  %r = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "r", offset = 256 : i64} : () -> tensor<8x4xf32>
  %t = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "t", offset = 384 : i64} : () -> tensor<4x8xf32>
  %h = onnx.MatMul %x, %w : (!x, tensor<8x8xf32>) -> !x
  %s = onnx.MatMul %h, %r : (!x, tensor<8x4xf32>) -> !e
  %p = onnx.Softmax %s {axis = -1 : i64} : (!e) -> !e
  %y, %i = onnx.TopK %p {axis = -1 : i64, k = 2 : i64} : (!e) -> (!v, !k)
  %o = onnx.Gather %t, %i {axis = 0 : i64} : (tensor<4x8xf32>, !k) -> !o
  return %y, %o : !v, !o
}
