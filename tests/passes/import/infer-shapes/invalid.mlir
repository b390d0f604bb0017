// RUN: shard-opt %s --split-input-file --verify-diagnostics --shardc-infer-shapes

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<3xf32>, %z: tensor<4xf32>) -> (!u) {
  // expected-error @below {{'onnx.Add' op Add: sizes 3 and 4 do not broadcast: expected equal to 4, found 3}}
  %y = onnx.Add %x, %z : (tensor<3xf32>, tensor<4xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<3xf32>, %z: tensor<3xf16>) -> (!u) {
  // expected-error @below {{'onnx.Add' op has operands of different types: 'f32' and 'f16'}}
  %y = onnx.Add %x, %z : (tensor<3xf32>, tensor<3xf16>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?xf32, #dist.value<dims = [seq + 2]>>, %z: tensor<?xf32, #dist.value<dims = [seq]>>) -> (!u) {
  // expected-error @below {{'onnx.Add' op Add: sizes seq + 2 and seq do not broadcast: expected equal to seq, found seq + 2}}
  %y = onnx.Add %x, %z : (tensor<?xf32, #dist.value<dims = [seq + 2]>>, tensor<?xf32, #dist.value<dims = [seq]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x16xf32, #dist.value<dims = [s, 16]>>, %z: tensor<32x8xf32>) -> (!u) {
  // expected-error @below {{'onnx.MatMul' op MatMul: sizes 16 and 32 of the contracted dim differ}}
  %y = onnx.MatMul %x, %z : (tensor<?x16xf32, #dist.value<dims = [s, 16]>>, tensor<32x8xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  // expected-error @below {{has axis 2, expected one in [-2, 2) for an operand with 2 dims}}
  %y = onnx.Softmax %x {axis = 2 : i64} : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %t: tensor<?xi64, #dist.value<dims = [n]>>) -> (!u) {
  // expected-error @below {{has a shape that is no small integer tensor}}
  %y = onnx.Reshape %x, %t : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xi64, #dist.value<dims = [n]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<10xf32>) -> (!u) {
  %t = onnx.Constant {value = dense<[-1,4]> : tensor<2xi64>} : () -> tensor<2xi64>
  // expected-error @below {{has -1 in its shape, but 10 elements are no multiple of 4}}
  %y = onnx.Reshape %x, %t : (tensor<10xf32>, tensor<2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<10xf32>) -> (!u) {
  %t = onnx.Constant {value = dense<[-1,-1]> : tensor<2xi64>} : () -> tensor<2xi64>
  // expected-error @below {{has -1 twice in its shape, expected it once}}
  %y = onnx.Reshape %x, %t : (tensor<10xf32>, tensor<2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<10xf32>) -> (!u) {
  %t = onnx.Constant {value = dense<[10,0]> : tensor<2xi64>} : () -> tensor<2xi64>
  // expected-error @below {{copies dim 1 of an operand with 1 dims}}
  %y = onnx.Reshape %x, %t : (tensor<10xf32>, tensor<2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<10xf32>) -> (!u) {
  %t = onnx.Constant {value = dense<[3,4]> : tensor<2xi64>} : () -> tensor<2xi64>
  // expected-error @below {{Reshape: 10 elements to 12: expected equal to 12, found 10}}
  %y = onnx.Reshape %x, %t : (tensor<10xf32>, tensor<2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  // expected-error @below {{has a perm that is no permutation of its 2 dims}}
  %y = onnx.Transpose %x {perm = array<i64: 0, 0>} : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %z: tensor<?xf32, #dist.value<dims = [b]>>) -> (!u) {
  // expected-error @below {{has operands of different ranks or types}}
  %y = onnx.Concat %x, %z {axis = 0 : i64} : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [b]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<9xf32>) -> (!u, !u) {
  %n = onnx.Constant {value = dense<[4,4]> : tensor<2xi64>} : () -> tensor<2xi64>
  // expected-error @below {{Split: the parts are 8 of a dim of 9}}
  %y, %z = onnx.Split %x, %n : (tensor<9xf32>, tensor<2xi64>) -> (!u, !u)
  return %y, %z : !u, !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<9xf32>) -> (!u, !u) {
  %n = onnx.Constant {value = dense<[3,3,3]> : tensor<3xi64>} : () -> tensor<3xi64>
  // expected-error @below {{has 3 sizes, but 2 results}}
  %y, %z = onnx.Split %x, %n : (tensor<9xf32>, tensor<3xi64>) -> (!u, !u)
  return %y, %z : !u, !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %t: tensor<1xf32>) -> (!u) {
  // expected-error @below {{has starts or ends that are no small integer tensors}}
  %y = onnx.Slice %x, %t, %t : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<1xf32>, tensor<1xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?xf32, #dist.value<dims = [s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[-2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %e = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %d = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %t = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  // expected-error @below {{goes backwards over a dim of s from -2 to 0, expected constants or the whole dim}}
  %y = onnx.Slice %x, %a, %e, %d, %t : (tensor<?xf32, #dist.value<dims = [s]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%n: tensor<2xi64>) -> (!u) {
  %a = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %d = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  // expected-error @below {{has operand 1 of 'tensor<2xi64>', expected a single element}}
  %y = onnx.Range %a, %n, %d : (tensor<i64>, tensor<2xi64>, tensor<i64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?xf32, #dist.value<dims = [s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %n = onnx.Size %x : (tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  // expected-error @below {{has delta 0, expected a constant other than 0}}
  %y = onnx.Range %a, %n, %a : (tensor<i64>, !u, tensor<i64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?xf32, #dist.value<dims = [s]>>) -> (!u) {
  // expected-error @below {{to a type that is not supported, ONNX's number 8}}
  %y = onnx.Cast %x {to = 8 : i64} : (tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?xf32, #dist.value<dims = [s]>>) -> (!u) {
  %p = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %t = onnx.Constant {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  // expected-error @below {{is in training mode, expected inference: export the model after model.eval()}}
  %y = onnx.Dropout %x, %p, %t : (tensor<?xf32, #dist.value<dims = [s]>>, tensor<f32>, tensor<i1>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%q: tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>, %k: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, %v: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>) -> (!u) {
  // expected-error @below {{has 6 query heads, expected a multiple of the 4 key and value heads}}
  %y = onnx.Attention %q, %k, %v {scale = 1.0 : f32} : (tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%q: tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>) -> (!u) {
  // expected-error @below {{has a query of 3 dims, but not both q_num_heads and kv_num_heads}}
  %y = onnx.Attention %q, %q, %q : (tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%q: tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, %c: tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>) -> (!u) {
  // expected-error @below {{has an operand of 3 dims, but no num_heads}}
  %y = onnx.RotaryEmbedding %q, %c, %c : (tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>, tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, %w: tensor<16x8xf32>) -> (!u) {
  // expected-error @below {{has operand 0 of 'tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>', expected 2 dims}}
  %y = onnx.Gemm %x, %w : (tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, tensor<16x8xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x3x?xf32, #dist.value<dims = [b, 3, t]>>) -> (!u, !u) {
  // expected-error @below {{has auto_pad SAME_UPPER for a size of t, which may be no multiple of the stride 2}}
  %y, %places = onnx.MaxPool %x {auto_pad = "SAME_UPPER", kernel_shape = array<i64: 3>, strides = array<i64: 2>} : (tensor<?x3x?xf32, #dist.value<dims = [b, 3, t]>>) -> (!u, !u)
  return %y, %places : !u, !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %i: tensor<?x3xi64, #dist.value<dims = [k, 3]>>) -> (!u) {
  // expected-error @below {{has indices whose last dim is 3, expected at most the 2 dims of its data}}
  %y = onnx.GatherND %x, %i : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?x3xi64, #dist.value<dims = [k, 3]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<?x8xf32, #dist.value<dims = [n, 8]>>) -> (!u, !u) {
  %k = onnx.Constant {value = dense<[9]> : tensor<1xi64>} : () -> tensor<1xi64>
  // expected-error @below {{TopK: k is more than the elements: expected at most 8, found 9}}
  %y, %z = onnx.TopK %x, %k : (tensor<?x8xf32, #dist.value<dims = [n, 8]>>, tensor<1xi64>) -> (!u, !u)
  return %y, %z : !u, !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%c: tensor<?xi1, #dist.value<dims = [s]>>, %x: tensor<?xf32, #dist.value<dims = [s]>>, %z: tensor<?xf16, #dist.value<dims = [s]>>) -> (!u) {
  // expected-error @below {{has branches of different types: 'f32' and 'f16'}}
  %y = onnx.Where %c, %x, %z : (tensor<?xi1, #dist.value<dims = [s]>>, tensor<?xf32, #dist.value<dims = [s]>>, tensor<?xf16, #dist.value<dims = [s]>>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> (!u) {
  // expected-error @below {{to 'i4', which is not supported: quantise to integers of 8 or 16 bits}}
  %y = onnx.QuantizeLinear %x, %s {output_dtype = 22 : i64} : (tensor<4x8xf32>, tensor<8xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<4x8xf32>, %i: tensor<i64>) -> (!u) {
  %s = onnx.SequenceConstruct %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> !u
  // expected-error @below {{has a position that depends on data, which is not supported: export with tensors}}
  %y = onnx.SequenceAt %s, %i : (!u, tensor<i64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>
func.func @main(%x: tensor<2x4x16xf32>, %n: tensor<2xi32>, %more: tensor<2xi32>) -> (!u) {
  %o = onnx.None : () -> none
  // expected-error @below {{has operand 16, which is not supported: export without it}}
  %y = onnx.microsoft.GroupQueryAttention %x, %x, %x, %o, %o, %n, %o, %o, %o, %o, %o, %o, %o, %o, %o, %o, %more {num_heads = 1 : i64, kv_num_heads = 1 : i64} : (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>, none, none, tensor<2xi32>, none, none, none, none, none, none, none, none, none, none, tensor<2xi32>) -> !u
  return %y : !u
}
