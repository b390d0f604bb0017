// A rotary embedding as it is spelt, and ops that are the same or nearly so.
// RUN: shard-opt %s --shardc-test-validate -o /dev/null | FileCheck %s

!x = tensor<?x8x?x128xf16, #dist.value<dims = [b, 8, seq, 128]>>
!h = tensor<?x8x?x64xf16, #dist.value<dims = [b, 8, seq, 64]>>
!a = tensor<?x?x64xf16, #dist.value<dims = [b, seq, 64]>>
!t = tensor<?x?x128xf16, #dist.value<dims = [b, seq, 128]>>
!u = tensor<?x1x?x128xf16, #dist.value<dims = [b, 1, seq, 128]>>

// CHECK: halves: same
func.func @halves(%x: !x, %angles: !a) -> (!x, !x) {
  %c = onnx.Cos %angles : (!a) -> !a
  %s = onnx.Sin %angles : (!a) -> !a
  %twice = onnx.Concat %angles, %angles {axis = 2 : i64} : (!a, !a) -> !t
  %cos = onnx.Cos %twice : (!t) -> !t
  %sin = onnx.Sin %twice : (!t) -> !t
  %c4 = onnx.Reshape %cos : (!t) -> !u
  %s4 = onnx.Reshape %sin : (!t) -> !u
  %xc = onnx.Mul %x, %c4 : (!x, !u) -> !x
  %p:2 = onnx.Split %x {axis = 3 : i64} : (!x) -> (!h, !h)
  %n = onnx.Neg %p#1 : (!h) -> !h
  %r = onnx.Concat %n, %p#0 {axis = 3 : i64} : (!h, !h) -> !x
  %rs = onnx.Mul %r, %s4 : (!x, !u) -> !x
  %y = onnx.Add %xc, %rs : (!x, !x) -> !x
  %z = onnx.RotaryEmbedding %x, %c, %s : (!x, !a, !a) -> !x
  return %y, %z : !x, !x
}

// CHECK-NEXT: neighbours: different
func.func @neighbours(%x: !x, %angles: !a) -> (!x, !x) {
  %c = onnx.Cos %angles : (!a) -> !a
  %s = onnx.Sin %angles : (!a) -> !a
  %twice = onnx.Concat %angles, %angles {axis = 2 : i64} : (!a, !a) -> !t
  %cos = onnx.Cos %twice : (!t) -> !t
  %sin = onnx.Sin %twice : (!t) -> !t
  %c4 = onnx.Reshape %cos : (!t) -> !u
  %s4 = onnx.Reshape %sin : (!t) -> !u
  %xc = onnx.Mul %x, %c4 : (!x, !u) -> !x
  %p:2 = onnx.Split %x {axis = 3 : i64} : (!x) -> (!h, !h)
  %n = onnx.Neg %p#1 : (!h) -> !h
  %r = onnx.Concat %n, %p#0 {axis = 3 : i64} : (!h, !h) -> !x
  %rs = onnx.Mul %r, %s4 : (!x, !u) -> !x
  %y = onnx.Add %xc, %rs : (!x, !x) -> !x
  %z = onnx.RotaryEmbedding %x, %c, %s {interleaved = 1} : (!x, !a, !a) -> !x
  return %y, %z : !x, !x
}

// CHECK-NEXT: swapped: different
func.func @swapped(%x: !x, %angles: !a) -> (!x, !x) {
  %c = onnx.Cos %angles : (!a) -> !a
  %s = onnx.Sin %angles : (!a) -> !a
  %twice = onnx.Concat %angles, %angles {axis = 2 : i64} : (!a, !a) -> !t
  %cos = onnx.Cos %twice : (!t) -> !t
  %sin = onnx.Sin %twice : (!t) -> !t
  %c4 = onnx.Reshape %cos : (!t) -> !u
  %s4 = onnx.Reshape %sin : (!t) -> !u
  %xc = onnx.Mul %x, %c4 : (!x, !u) -> !x
  %p:2 = onnx.Split %x {axis = 3 : i64} : (!x) -> (!h, !h)
  %n = onnx.Neg %p#1 : (!h) -> !h
  %r = onnx.Concat %n, %p#0 {axis = 3 : i64} : (!h, !h) -> !x
  %rs = onnx.Mul %r, %s4 : (!x, !u) -> !x
  %y = onnx.Add %xc, %rs : (!x, !x) -> !x
  %z = onnx.RotaryEmbedding %x, %s, %c : (!x, !a, !a) -> !x
  return %y, %z : !x, !x
}
