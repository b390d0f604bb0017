// Operands apart, packed, or as a cache; biases of the projections.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @apart(
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %arg3 : {{.*}} -> (tensor<96xf32>, tensor<96xf32>, tensor<48xf32>)
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %[[SPLIT]]#0 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %arg1, %[[SPLIT]]#1 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, t, 96]>>
// CHECK-NEXT: %[[ADD3:.*]] = onnx.Add %arg2, %[[SPLIT]]#2 : {{.*}} -> tensor<?x?x48xf32, #dist.value<dims = [b, t, 48]>>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[ADD]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[ADD2]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, t, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, t, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[ADD3]] : {{.*}} -> tensor<?x?x6x8xf32, #dist.value<dims = [b, t, 6, 8]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x8xf32, #dist.value<dims = [b, 6, t, 8]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %[[GREATER:.*]] = onnx.Greater %arg4, %[[CONSTANT]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, t]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[GREATER]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, t]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[CONSTANT3:.*]] = onnx.Constant {value = dense<-1.000000e+04> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Where %[[RESHAPE4]], %[[CONSTANT2]], %[[CONSTANT3]] : {{.*}} -> tensor<?x1x1x?xf32, #dist.value<dims = [b, 1, 1, t]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[TRANSPOSE2]], %[[TRANSPOSE3]], %[[WHERE]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x6x?x8xf32, #dist.value<dims = [b, 6, s, 8]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x8xf32, #dist.value<dims = [b, s, 6, 8]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x48xf32, #dist.value<dims = [b, s, 48]>>
// CHECK-NEXT: return %[[RESHAPE5]]
func.func @apart(%q: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %k: tensor<?x?x96xf32, #dist.value<dims = [b, t, 96]>>, %v: tensor<?x?x48xf32, #dist.value<dims = [b, t, 48]>>, %c: tensor<240xf32>, %m: tensor<?x?xi32, #dist.value<dims = [b, t]>>) -> (!u) {
  %y = onnx.microsoft.MultiHeadAttention %q, %k, %v, %c, %m {num_heads = 6 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, t, 96]>>, tensor<?x?x48xf32, #dist.value<dims = [b, t, 48]>>, tensor<240xf32>, tensor<?x?xi32, #dist.value<dims = [b, t]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @packed(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1, 1>} : {{.*}} -> tensor<?x?x6x1x16xf32, #dist.value<dims = [b, s, 6, 1, 16]>>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[SLICE]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[SLICE2:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 0, 0, 1, 0]>, steps = array<i64: 1, 1, 1, 1, 1>} : {{.*}} -> tensor<?x?x6x1x16xf32, #dist.value<dims = [b, s, 6, 1, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SLICE2]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[SLICE3:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 0, 0, 2, 0]>, steps = array<i64: 1, 1, 1, 1, 1>} : {{.*}} -> tensor<?x?x6x1x16xf32, #dist.value<dims = [b, s, 6, 1, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[SLICE3]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %arg1 : {{.*}} -> (tensor<96xf32>, tensor<96xf32>, tensor<96xf32>)
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[SPLIT]]#0 : {{.*}} -> tensor<6x16xf32>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[RESHAPE]], %[[RESHAPE4]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[SPLIT]]#1 : {{.*}} -> tensor<6x16xf32>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[RESHAPE2]], %[[RESHAPE5]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE6:.*]] = onnx.Reshape %[[SPLIT]]#2 : {{.*}} -> tensor<6x16xf32>
// CHECK-NEXT: %[[ADD3:.*]] = onnx.Add %[[RESHAPE3]], %[[RESHAPE6]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[ADD]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[ADD2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[ADD3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[TRANSPOSE2]], %[[TRANSPOSE3]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE7:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE7]]
func.func @packed(%q: tensor<?x?x6x3x16xf32, #dist.value<dims = [b, s, 6, 3, 16]>>, %c: tensor<288xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.MultiHeadAttention %q, %none, %none, %c {num_heads = 6 : i64} : (tensor<?x?x6x3x16xf32, #dist.value<dims = [b, s, 6, 3, 16]>>, none, none, tensor<288xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @packed_keys(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg1 {bounds = #dist.dims<[0, 0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1, 1>} : {{.*}} -> tensor<?x?x6x1x16xf32, #dist.value<dims = [b, t, 6, 1, 16]>>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[SLICE]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, t, 6, 16]>>
// CHECK-NEXT: %[[SLICE2:.*]] = onnx.Slice %arg1 {bounds = #dist.dims<[0, 0, 0, 1, 0]>, steps = array<i64: 1, 1, 1, 1, 1>} : {{.*}} -> tensor<?x?x6x1x16xf32, #dist.value<dims = [b, t, 6, 1, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SLICE2]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, t, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, t, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, t, 16]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[TRANSPOSE2]], %[[TRANSPOSE3]], %arg2 {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE4]]
func.func @packed_keys(%q: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %k: tensor<?x?x6x2x16xf32, #dist.value<dims = [b, t, 6, 2, 16]>>, %bias: tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, s, t]>>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.MultiHeadAttention %q, %k, %none, %none, %none, %bias {num_heads = 6 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x6x2x16xf32, #dist.value<dims = [b, t, 6, 2, 16]>>, none, none, none, tensor<1x1x?x?xf32, #dist.value<dims = [1, 1, s, t]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @cross(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg3 {bounds = #dist.dims<[0]>, steps = array<i64: 1>} : {{.*}} -> tensor<96xf32>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %[[SLICE]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[ADD]] : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %arg1, %arg2 {scale = 5.000000e-01 : f32} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[TRANSPOSE2]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE2]]
func.func @cross(%q: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %k: tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, t, 16]>>, %v: tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, t, 16]>>, %c: tensor<288xf32>) -> (!u) {
  %y = onnx.microsoft.MultiHeadAttention %q, %k, %v, %c {num_heads = 6 : i64, scale = 0.5 : f32} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, t, 16]>>, tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, t, 16]>>, tensor<288xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @causal_with_past(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[CONCAT:.*]] = onnx.Concat %arg3, %[[TRANSPOSE2]] {axis = 2 : i64} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past + s, 16]>>
// CHECK-NEXT: %[[CONCAT2:.*]] = onnx.Concat %arg4, %[[TRANSPOSE3]] {axis = 2 : i64} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past + s, 16]>>
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[RANGE]] : {{.*}} -> tensor<?x1xi64, #dist.value<dims = [s, 1]>>
// CHECK-NEXT: %[[RANGE2:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + s]>>
// CHECK-NEXT: %[[LESSOREQUAL:.*]] = onnx.LessOrEqual %[[RANGE2]], %[[RESHAPE4]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [s, past + s]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[CONCAT]], %[[CONCAT2]], %[[LESSOREQUAL]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE5]], %[[CONCAT]], %[[CONCAT2]]
func.func @causal_with_past(%q: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %k: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %v: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %pk: tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past, 16]>>, %pv: tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past, 16]>>) -> (!u, !u, !u) {
  %none = onnx.None : () -> none
  %y, %ak, %av = onnx.microsoft.MultiHeadAttention %q, %k, %v, %none, %none, %none, %pk, %pv {num_heads = 6 : i64, unidirectional = 1 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, none, none, none, tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past, 16]>>, tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past, 16]>>) -> (!u, !u, !u)
  return %y, %ak, %av : !u, !u, !u
}
