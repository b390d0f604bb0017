// Almost rotary embeddings.
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s
// CHECK-NOT: onnx.RotaryEmbedding

// The tables' halves are not known to be equal.
func.func @tables(%x: tensor<2x4x3x8xf32>, %cos: tensor<1x1x3x8xf32>, %sin: tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32> {
  %p = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// They are known to differ.
func.func @angles(%x: tensor<2x4x3x8xf32>, %angles: tensor<1x1x3x4xf32>, %more: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %twice = onnx.Concat %angles, %more {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// The other half is negated: a turn backwards.
func.func @backwards(%x: tensor<2x4x3x8xf32>, %angles: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#0 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %h#1, %n {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Halves of another value.
func.func @others(%x: tensor<2x4x3x8xf32>, %z: tensor<2x4x3x8xf32>, %angles: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %z {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Both products are added.
func.func @sums(%x: tensor<2x4x3x8xf32>, %cos: tensor<1x1x3x4xf32>, %sin: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %a = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %b = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 4]>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x4xf32>
  %ac = onnx.Mul %a, %cos : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %bs = onnx.Mul %b, %sin : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %left = onnx.Add %ac, %bs : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %bc = onnx.Mul %cos, %b : (tensor<1x1x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %as = onnx.Mul %a, %sin : (tensor<2x4x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<2x4x3x4xf32>
  %right = onnx.Add %bc, %as : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %y = onnx.Concat %left, %right {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// A table for each head.
func.func @heads(%x: tensor<2x4x3x8xf32>, %angles: tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// A factor for each column, which is one number only by its data: half of the
// table has no half of it.
func.func @wide_factor(%x: tensor<2x4x3x8xf32>, %angles: tensor<1x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %factor = onnx.Constant {value = dense<0.75> : tensor<1x1x1x8xf32>} : () -> tensor<1x1x1x8xf32>
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32>
  %c = onnx.Cos %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %s = onnx.Sin %twice : (tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32>
  %cos = onnx.Mul %c, %factor : (tensor<1x1x3x8xf32>, tensor<1x1x1x8xf32>) -> tensor<1x1x3x8xf32>
  %sin = onnx.Mul %s, %factor : (tensor<1x1x3x8xf32>, tensor<1x1x1x8xf32>) -> tensor<1x1x3x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<2x4x3x8xf32>) -> (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<2x4x3x4xf32>) -> tensor<2x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<2x4x3x4xf32>, tensor<2x4x3x4xf32>) -> tensor<2x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<2x4x3x8xf32>, tensor<1x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// Angles of two batches for one of x: the turn repeats x.
func.func @more_angles(%x: tensor<1x4x3x8xf32>, %angles: tensor<2x1x3x4xf32>) -> tensor<2x4x3x8xf32> {
  %twice = onnx.Concat %angles, %angles {axis = 3 : i64} : (tensor<2x1x3x4xf32>, tensor<2x1x3x4xf32>) -> tensor<2x1x3x8xf32>
  %cos = onnx.Cos %twice : (tensor<2x1x3x8xf32>) -> tensor<2x1x3x8xf32>
  %sin = onnx.Sin %twice : (tensor<2x1x3x8xf32>) -> tensor<2x1x3x8xf32>
  %p = onnx.Mul %x, %cos : (tensor<1x4x3x8xf32>, tensor<2x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %h:2 = onnx.Split %x {axis = 3 : i64} : (tensor<1x4x3x8xf32>) -> (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>)
  %n = onnx.Neg %h#1 : (tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xf32>
  %r = onnx.Concat %n, %h#0 {axis = 3 : i64} : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x8xf32>
  %q = onnx.Mul %r, %sin : (tensor<1x4x3x8xf32>, tensor<2x1x3x8xf32>) -> tensor<2x4x3x8xf32>
  %y = onnx.Add %p, %q : (tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
