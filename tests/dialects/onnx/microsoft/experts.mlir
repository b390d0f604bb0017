// All experts compute all tokens; those not chosen weigh 0.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @fused_pairs(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [b * s, 96]>>
// CHECK-NEXT: %values, %indices = onnx.TopK %arg1 {axis = 1 : i64} : (tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>) -> (tensor<?x2xf32, #dist.value<dims = [b * s, 2]>>, tensor<?x2xi64, #dist.value<dims = [b * s, 2]>>)
// CHECK-NEXT: %[[SOFTMAX:.*]] = onnx.Softmax %values {axis = 1 : i64} : {{.*}} -> tensor<?x2xf32, #dist.value<dims = [b * s, 2]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %[[CONSTANT]] : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>
// CHECK-NEXT: %[[SCATTERELEMENTS:.*]] = onnx.ScatterElements %[[EXPAND]], %indices, %[[SOFTMAX]] {axis = 1 : i64} : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %arg2 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<8x96x128xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %[[RESHAPE]], %[[TRANSPOSE]] : {{.*}} -> tensor<8x?x128xf32, #dist.value<dims = [8, b * s, 128]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg3 : {{.*}} -> tensor<8x1x128xf32>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[MATMUL]], %[[RESHAPE2]] : {{.*}} -> tensor<8x?x128xf32, #dist.value<dims = [8, b * s, 128]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[ADD]] : {{.*}} -> tensor<8x?x64x2xf32, #dist.value<dims = [8, b * s, 64, 2]>>
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %[[RESHAPE3]] {bounds = #dist.dims<[0, 0, 0, 1]>, steps = array<i64: 1, 1, 1, 1>} : {{.*}} -> tensor<8x?x64x1xf32, #dist.value<dims = [8, b * s, 64, 1]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[SLICE]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[SLICE2:.*]] = onnx.Slice %[[RESHAPE3]] {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : {{.*}} -> tensor<8x?x64x1xf32, #dist.value<dims = [8, b * s, 64, 1]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[SLICE2]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<7.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[MIN:.*]] = onnx.Min %[[RESHAPE5]], %[[CONSTANT2]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[CONSTANT3:.*]] = onnx.Constant {value = dense<-7.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[CLIP:.*]] = onnx.Clip %[[RESHAPE4]], %[[CONSTANT3]], %[[CONSTANT2]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[CONSTANT4:.*]] = onnx.Constant {value = dense<1.702000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %[[MIN]], %[[CONSTANT4]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[SIGMOID:.*]] = onnx.Sigmoid %[[MUL]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[MUL2:.*]] = onnx.Mul %[[MIN]], %[[SIGMOID]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[CONSTANT5:.*]] = onnx.Constant {value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[CLIP]], %[[CONSTANT5]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[MUL3:.*]] = onnx.Mul %[[MUL2]], %[[ADD2]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, b * s, 64]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %arg4 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<8x64x96xf32>
// CHECK-NEXT: %[[MATMUL2:.*]] = onnx.MatMul %[[MUL3]], %[[TRANSPOSE2]] : {{.*}} -> tensor<8x?x96xf32, #dist.value<dims = [8, b * s, 96]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[SCATTERELEMENTS]] {perm = array<i64: 1, 0>} : {{.*}} -> tensor<8x?xf32, #dist.value<dims = [8, b * s]>>
// CHECK-NEXT: %[[RESHAPE6:.*]] = onnx.Reshape %[[TRANSPOSE3]] : {{.*}} -> tensor<8x?x1xf32, #dist.value<dims = [8, b * s, 1]>>
// CHECK-NEXT: %[[MUL4:.*]] = onnx.Mul %[[MATMUL2]], %[[RESHAPE6]] : {{.*}} -> tensor<8x?x96xf32, #dist.value<dims = [8, b * s, 96]>>
// CHECK-NEXT: %[[REDUCESUM:.*]] = onnx.ReduceSum %[[MUL4]] {axes = array<i64: 0>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [b * s, 96]>>
// CHECK-NEXT: %[[MATMUL3:.*]] = onnx.MatMul %[[SCATTERELEMENTS]], %arg5 : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [b * s, 96]>>
// CHECK-NEXT: %[[ADD3:.*]] = onnx.Add %[[REDUCESUM]], %[[MATMUL3]] : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [b * s, 96]>>
// CHECK-NEXT: %[[RESHAPE7:.*]] = onnx.Reshape %[[ADD3]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE7]]
func.func @fused_pairs(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %r: tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>, %w1: tensor<8x128x96xf32>, %c1: tensor<8x128xf32>, %w2: tensor<8x96x64xf32>, %c2: tensor<8x96xf32>) -> (!u) {
  %y = onnx.microsoft.MoE %x, %r, %w1, %c1, %w2, %c2 {activation_alpha = 1.702 : f32, activation_beta = 1.0 : f32, activation_type = "swiglu", k = 2 : i64, normalize_routing_weights = 1 : i64, swiglu_fusion = 1 : i64, swiglu_limit = 7.0 : f32} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>, tensor<8x128x96xf32>, tensor<8x128xf32>, tensor<8x96x64xf32>, tensor<8x96xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @gate_apart(
// CHECK-NEXT: %values, %indices = onnx.TopK %arg1 {axis = 1 : i64} : (tensor<?x8xf32, #dist.value<dims = [t, 8]>>) -> (tensor<?x2xf32, #dist.value<dims = [t, 2]>>, tensor<?x2xi64, #dist.value<dims = [t, 2]>>)
// CHECK-NEXT: %[[SOFTMAX:.*]] = onnx.Softmax %arg1 {axis = 1 : i64} : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [t, 8]>>
// CHECK-NEXT: %[[GATHERELEMENTS:.*]] = onnx.GatherElements %[[SOFTMAX]], %indices {axis = 1 : i64} : {{.*}} -> tensor<?x2xf32, #dist.value<dims = [t, 2]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %[[CONSTANT]] : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [t, 8]>>
// CHECK-NEXT: %[[SCATTERELEMENTS:.*]] = onnx.ScatterElements %[[EXPAND]], %indices, %[[GATHERELEMENTS]] {axis = 1 : i64} : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [t, 8]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %arg2 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<8x96x64xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %[[TRANSPOSE]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, t, 64]>>
// CHECK-NEXT: %[[SIGMOID:.*]] = onnx.Sigmoid %[[MATMUL]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, t, 64]>>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %[[MATMUL]], %[[SIGMOID]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, t, 64]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %arg4 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<8x96x64xf32>
// CHECK-NEXT: %[[MATMUL2:.*]] = onnx.MatMul %arg0, %[[TRANSPOSE2]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, t, 64]>>
// CHECK-NEXT: %[[MUL2:.*]] = onnx.Mul %[[MUL]], %[[MATMUL2]] : {{.*}} -> tensor<8x?x64xf32, #dist.value<dims = [8, t, 64]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %arg3 {perm = array<i64: 0, 2, 1>} : {{.*}} -> tensor<8x64x96xf32>
// CHECK-NEXT: %[[MATMUL3:.*]] = onnx.MatMul %[[MUL2]], %[[TRANSPOSE3]] : {{.*}} -> tensor<8x?x96xf32, #dist.value<dims = [8, t, 96]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[SCATTERELEMENTS]] {perm = array<i64: 1, 0>} : {{.*}} -> tensor<8x?xf32, #dist.value<dims = [8, t]>>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<8x?x1xf32, #dist.value<dims = [8, t, 1]>>
// CHECK-NEXT: %[[MUL3:.*]] = onnx.Mul %[[MATMUL3]], %[[RESHAPE]] : {{.*}} -> tensor<8x?x96xf32, #dist.value<dims = [8, t, 96]>>
// CHECK-NEXT: %[[REDUCESUM:.*]] = onnx.ReduceSum %[[MUL3]] {axes = array<i64: 0>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [t, 96]>>
// CHECK-NEXT: return %[[REDUCESUM]]
func.func @gate_apart(%x: tensor<?x96xf32, #dist.value<dims = [t, 96]>>, %r: tensor<?x8xf32, #dist.value<dims = [t, 8]>>, %w1: tensor<8x64x96xf32>, %w2: tensor<8x96x64xf32>, %w3: tensor<8x64x96xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.MoE %x, %r, %w1, %none, %w2, %none, %w3 {activation_type = "silu", k = 2 : i64} : (tensor<?x96xf32, #dist.value<dims = [t, 96]>>, tensor<?x8xf32, #dist.value<dims = [t, 8]>>, tensor<8x64x96xf32>, none, tensor<8x96x64xf32>, none, tensor<8x64x96xf32>) -> !u
  return %y : !u
}
