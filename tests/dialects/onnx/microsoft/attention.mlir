// One projection to q | k | v; masks of three kinds, causality, and a past of keys and values.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @raw_mask(
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %arg1 : {{.*}} -> tensor<?x?x288xf32, #dist.value<dims = [b, s, 288]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[MATMUL]], %arg2 : {{.*}} -> tensor<?x?x288xf32, #dist.value<dims = [b, s, 288]>>
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %[[ADD]] {axis = 2 : i64} : {{.*}} -> (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>)
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[SPLIT]]#0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SPLIT]]#1 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[SPLIT]]#2 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %[[GREATER:.*]] = onnx.Greater %arg3, %[[CONSTANT]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[GREATER]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[CONSTANT3:.*]] = onnx.Constant {value = dense<-1.000000e+04> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Where %[[RESHAPE4]], %[[CONSTANT2]], %[[CONSTANT3]] : {{.*}} -> tensor<?x1x1x?xf32, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[TRANSPOSE2]], %[[TRANSPOSE3]], %[[WHERE]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE5]]
func.func @raw_mask(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96x288xf32>, %c: tensor<288xf32>, %m: tensor<?x?xi32, #dist.value<dims = [b, s]>>) -> (!u) {
  %y = onnx.microsoft.Attention %x, %w, %c, %m {num_heads = 6 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96x288xf32>, tensor<288xf32>, tensor<?x?xi32, #dist.value<dims = [b, s]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @lengths(
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %arg1 : {{.*}} -> tensor<?x?x288xf32, #dist.value<dims = [b, s, 288]>>
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %[[MATMUL]] {axis = 2 : i64} : {{.*}} -> (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>)
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[SPLIT]]#0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SPLIT]]#1 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[SPLIT]]#2 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg2 : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[CAST]] : {{.*}} -> tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
// CHECK-NEXT: %[[LESS:.*]] = onnx.Less %[[RANGE]], %[[RESHAPE4]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<-1.000000e+04> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Where %[[LESS]], %[[CONSTANT]], %[[CONSTANT2]] : {{.*}} -> tensor<?x1x1x?xf32, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[TRANSPOSE2]], %[[TRANSPOSE3]], %[[WHERE]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE5]]
func.func @lengths(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96x288xf32>, %m: tensor<?xi32, #dist.value<dims = [b]>>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.Attention %x, %w, %none, %m {num_heads = 6 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96x288xf32>, none, tensor<?xi32, #dist.value<dims = [b]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @ends_and_starts(
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %arg1 : {{.*}} -> tensor<?x?x288xf32, #dist.value<dims = [b, s, 288]>>
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %[[MATMUL]] {axis = 2 : i64} : {{.*}} -> (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>)
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[SPLIT]]#0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SPLIT]]#1 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[SPLIT]]#2 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg2 : {{.*}} -> tensor<?xi64, #dist.value<dims = [b * 2]>>
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %[[CAST]] {bounds = #dist.dims<[0]>, steps = array<i64: 1>} : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[SLICE]] : {{.*}} -> tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
// CHECK-NEXT: %[[SLICE2:.*]] = onnx.Slice %[[CAST]] {bounds = #dist.dims<[b]>, steps = array<i64: 1>} : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[SLICE2]] : {{.*}} -> tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
// CHECK-NEXT: %[[LESS:.*]] = onnx.Less %[[RANGE]], %[[RESHAPE4]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[GREATEROREQUAL:.*]] = onnx.GreaterOrEqual %[[RANGE]], %[[RESHAPE5]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[AND:.*]] = onnx.And %[[LESS]], %[[GREATEROREQUAL]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<-1.000000e+04> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Where %[[AND]], %[[CONSTANT]], %[[CONSTANT2]] : {{.*}} -> tensor<?x1x1x?xf32, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[TRANSPOSE2]], %[[TRANSPOSE3]], %[[WHERE]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE6:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE6]]
func.func @ends_and_starts(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96x288xf32>, %m: tensor<?xi32, #dist.value<dims = [2 * b]>>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.Attention %x, %w, %none, %m {num_heads = 6 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96x288xf32>, none, tensor<?xi32, #dist.value<dims = [2 * b]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @causal_with_past(
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %arg1 : {{.*}} -> tensor<?x?x288xf32, #dist.value<dims = [b, s, 288]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[MATMUL]], %arg2 : {{.*}} -> tensor<?x?x288xf32, #dist.value<dims = [b, s, 288]>>
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %[[ADD]] {axis = 2 : i64} : {{.*}} -> (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>)
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[SPLIT]]#0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SPLIT]]#1 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[SPLIT]]#2 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg4 {bounds = #dist.dims<[0, 0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1, 1>} : {{.*}} -> tensor<1x?x6x?x16xf32, #dist.value<dims = [1, b, 6, past, 16]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[SLICE]] : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past, 16]>>
// CHECK-NEXT: %[[CONCAT:.*]] = onnx.Concat %[[RESHAPE4]], %[[TRANSPOSE2]] {axis = 2 : i64} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past + s, 16]>>
// CHECK-NEXT: %[[SLICE2:.*]] = onnx.Slice %arg4 {bounds = #dist.dims<[1, 0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1, 1>} : {{.*}} -> tensor<1x?x6x?x16xf32, #dist.value<dims = [1, b, 6, past, 16]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[SLICE2]] : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past, 16]>>
// CHECK-NEXT: %[[CONCAT2:.*]] = onnx.Concat %[[RESHAPE5]], %[[TRANSPOSE3]] {axis = 2 : i64} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, past + s, 16]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0> : tensor<i32>} : () -> tensor<i32>
// CHECK-NEXT: %[[GREATER:.*]] = onnx.Greater %arg3, %[[CONSTANT]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, past + s]>>
// CHECK-NEXT: %[[RESHAPE6:.*]] = onnx.Reshape %[[GREATER]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + s]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[CONSTANT3:.*]] = onnx.Constant {value = dense<-1.000000e+04> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Where %[[RESHAPE6]], %[[CONSTANT2]], %[[CONSTANT3]] : {{.*}} -> tensor<?x1x1x?xf32, #dist.value<dims = [b, 1, 1, past + s]>>
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[RESHAPE7:.*]] = onnx.Reshape %[[RANGE]] : {{.*}} -> tensor<?x1xi64, #dist.value<dims = [s, 1]>>
// CHECK-NEXT: %[[RANGE2:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + s]>>
// CHECK-NEXT: %[[LESSOREQUAL:.*]] = onnx.LessOrEqual %[[RANGE2]], %[[RESHAPE7]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [s, past + s]>>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[WHERE]], %arg5 : {{.*}} -> tensor<?x6x?x?xf32, #dist.value<dims = [b, 6, s, past + s]>>
// CHECK-NEXT: %[[CONSTANT4:.*]] = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE2:.*]] = onnx.Where %[[LESSOREQUAL]], %[[ADD2]], %[[CONSTANT4]] : {{.*}} -> tensor<?x6x?x?xf32, #dist.value<dims = [b, 6, s, past + s]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[CONCAT]], %[[CONCAT2]], %[[WHERE2]] {scale = 5.000000e-01 : f32} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE8:.*]] = onnx.Reshape %[[CONCAT]] : {{.*}} -> tensor<1x?x6x?x16xf32, #dist.value<dims = [1, b, 6, past + s, 16]>>
// CHECK-NEXT: %[[RESHAPE9:.*]] = onnx.Reshape %[[CONCAT2]] : {{.*}} -> tensor<1x?x6x?x16xf32, #dist.value<dims = [1, b, 6, past + s, 16]>>
// CHECK-NEXT: %[[CONCAT3:.*]] = onnx.Concat %[[RESHAPE8]], %[[RESHAPE9]] {axis = 0 : i64} : {{.*}} -> tensor<2x?x6x?x16xf32, #dist.value<dims = [2, b, 6, past + s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE10:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE10]], %[[CONCAT3]]
func.func @causal_with_past(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96x288xf32>, %c: tensor<288xf32>, %m: tensor<?x?xi32, #dist.value<dims = [b, past + s]>>, %past: tensor<2x?x6x?x16xf32, #dist.value<dims = [2, b, 6, past, 16]>>, %bias: tensor<1x6x?x?xf32, #dist.value<dims = [1, 6, s, past + s]>>) -> (!u, !u) {
  %y, %present = onnx.microsoft.Attention %x, %w, %c, %m, %past, %bias {num_heads = 6 : i64, unidirectional = 1 : i64, scale = 0.5 : f32} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96x288xf32>, tensor<288xf32>, tensor<?x?xi32, #dist.value<dims = [b, past + s]>>, tensor<2x?x6x?x16xf32, #dist.value<dims = [2, b, 6, past, 16]>>, tensor<1x6x?x?xf32, #dist.value<dims = [1, 6, s, past + s]>>) -> (!u, !u)
  return %y, %present : !u, !u
}

// CHECK-LABEL: func.func @other_values(
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %arg1 : {{.*}} -> tensor<?x?x256xf32, #dist.value<dims = [b, s, 256]>>
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %[[MATMUL]] {axis = 2 : i64} : {{.*}} -> (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>)
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[SPLIT]]#0 : {{.*}} -> tensor<?x?x8x12xf32, #dist.value<dims = [b, s, 8, 12]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x12xf32, #dist.value<dims = [b, 8, s, 12]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SPLIT]]#1 : {{.*}} -> tensor<?x?x8x12xf32, #dist.value<dims = [b, s, 8, 12]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x12xf32, #dist.value<dims = [b, 8, s, 12]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[SPLIT]]#2 : {{.*}} -> tensor<?x?x8x8xf32, #dist.value<dims = [b, s, 8, 8]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x8xf32, #dist.value<dims = [b, 8, s, 8]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[TRANSPOSE2]], %[[TRANSPOSE3]] {scale = 0.288675129 : f32} : {{.*}} -> tensor<?x8x?x8xf32, #dist.value<dims = [b, 8, s, 8]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x8x8xf32, #dist.value<dims = [b, s, 8, 8]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[RESHAPE4]]
func.func @other_values(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96x256xf32>) -> (!u) {
  %y = onnx.microsoft.Attention %x, %w {num_heads = 8 : i64, qkv_hidden_sizes = array<i64: 96, 96, 64>} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96x256xf32>) -> !u
  return %y : !u
}
