// Products of values whose batch and heads are one dim: OPT's, where a mask is
// added to the scores of each head, and no score is below the lowest number;
// BLOOM's, which adds a bias of each head to the merged scores.
// RUN: shard-opt %s --shardc-recover-attention | FileCheck %s

!q = tensor<?x4x3x8xf32, #dist.value<dims = [b, 4, 3, 8]>>
!k = tensor<?x4x5x8xf32, #dist.value<dims = [b, 4, 5, 8]>>
!s = tensor<?x4x3x5xf32, #dist.value<dims = [b, 4, 3, 5]>>
!mq = tensor<?x3x8xf32, #dist.value<dims = [b * 4, 3, 8]>>
!mk = tensor<?x5x8xf32, #dist.value<dims = [b * 4, 5, 8]>>
!mt = tensor<?x8x5xf32, #dist.value<dims = [b * 4, 8, 5]>>
!ms = tensor<?x3x5xf32, #dist.value<dims = [b * 4, 3, 5]>>
!m = tensor<?x1x3x5xf32, #dist.value<dims = [b, 1, 3, 5]>>
!a = tensor<?x1x5xf32, #dist.value<dims = [b * 4, 1, 5]>>
!h = tensor<?x4x5xf32, #dist.value<dims = [b, 4, 5]>>

// CHECK-LABEL: func.func @opt(
// CHECK: %[[LOW:.*]] = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>}
// CHECK: %[[MASK:.*]] = onnx.Max %arg3, %{{.*}}
// CHECK-NEXT: %[[Y:.*]] = onnx.Attention %arg0, %arg1, %arg2, %[[MASK]] {scale = 2.500000e-01 : f32, zero_rows = "none"}
// CHECK-NEXT: return %[[Y]]
func.func @opt(%q: !q, %k: !k, %v: !k, %mask: !m) -> !q {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %low = onnx.Constant {value = dense<-3.40282347E+38> : tensor<f32>} : () -> tensor<f32>
  %mq = onnx.Reshape %q : (!q) -> !mq
  %scaled = onnx.Mul %mq, %scale : (!mq, tensor<f32>) -> !mq
  %mk = onnx.Reshape %k : (!k) -> !mk
  %mt = onnx.Transpose %mk {perm = array<i64: 0, 2, 1>} : (!mk) -> !mt
  %qk = onnx.MatMul %scaled, %mt : (!mq, !mt) -> !ms
  %apart = onnx.Reshape %qk : (!ms) -> !s
  %masked = onnx.Add %apart, %mask : (!s, !m) -> !s
  %floored = onnx.Max %masked, %low : (!s, tensor<f32>) -> !s
  %rows = onnx.Reshape %floored : (!s) -> !ms
  %weights = onnx.Softmax %rows {axis = 2 : i64} : (!ms) -> !ms
  %mv = onnx.Reshape %v : (!k) -> !mk
  %y = onnx.MatMul %weights, %mv : (!ms, !mk) -> !mq
  %z = onnx.Reshape %y : (!mq) -> !q
  return %z : !q
}

// CHECK-LABEL: func.func @bloom(
// CHECK: %[[BIAS:.*]] = onnx.Reshape %arg3 : {{.*}} -> tensor<?x4x1x5xf32, #dist.value<dims = [b, 4, 1, 5]>>
// CHECK: %[[Y:.*]] = onnx.Attention %arg0, %arg1, %arg2, %[[BIAS]] {scale = 2.500000e-01 : f32
// CHECK-NEXT: return %[[Y]]
func.func @bloom(%q: !q, %k: !k, %v: !k, %alibi: !h) -> !q {
  %scale = onnx.Constant {value = dense<0.25> : tensor<f32>} : () -> tensor<f32>
  %bias = onnx.Reshape %alibi : (!h) -> !a
  %mq = onnx.Reshape %q : (!q) -> !mq
  %mk = onnx.Reshape %k : (!k) -> !mk
  %mt = onnx.Transpose %mk {perm = array<i64: 0, 2, 1>} : (!mk) -> !mt
  %qk = onnx.MatMul %mq, %mt : (!mq, !mt) -> !ms
  %scaled = onnx.Mul %qk, %scale : (!ms, tensor<f32>) -> !ms
  %biased = onnx.Add %scaled, %bias : (!ms, !a) -> !ms
  %weights = onnx.Softmax %biased {axis = 2 : i64} : (!ms) -> !ms
  %mv = onnx.Reshape %v : (!k) -> !mk
  %y = onnx.MatMul %weights, %mv : (!ms, !mk) -> !mq
  %z = onnx.Reshape %y : (!mq) -> !q
  return %z : !q
}

// One head of one batch: its merged dim is 1, and is split all the same.
// CHECK-LABEL: func.func @single(
// CHECK-NOT: onnx.Softmax
// CHECK: onnx.Attention %arg0, %arg1, %arg2, %{{.*}} : (tensor<1x1x4x2xf32>, tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>, tensor<1x1x4x3xf32>) -> tensor<1x1x4x2xf32>
func.func @single(%q: tensor<1x1x4x2xf32>, %k: tensor<1x1x3x2xf32>, %v: tensor<1x1x3x2xf32>, %mask: tensor<1x1x4x3xf32>) -> tensor<1x1x4x2xf32> {
  %mq = onnx.Reshape %q : (tensor<1x1x4x2xf32>) -> tensor<1x4x2xf32>
  %mk = onnx.Reshape %k : (tensor<1x1x3x2xf32>) -> tensor<1x3x2xf32>
  %mv = onnx.Reshape %v : (tensor<1x1x3x2xf32>) -> tensor<1x3x2xf32>
  %mt = onnx.Transpose %mk {perm = array<i64: 0, 2, 1>} : (tensor<1x3x2xf32>) -> tensor<1x2x3xf32>
  %qk = onnx.MatMul %mq, %mt : (tensor<1x4x2xf32>, tensor<1x2x3xf32>) -> tensor<1x4x3xf32>
  %apart = onnx.Reshape %qk : (tensor<1x4x3xf32>) -> tensor<1x1x4x3xf32>
  %masked = onnx.Add %apart, %mask : (tensor<1x1x4x3xf32>, tensor<1x1x4x3xf32>) -> tensor<1x1x4x3xf32>
  %rows = onnx.Reshape %masked : (tensor<1x1x4x3xf32>) -> tensor<1x4x3xf32>
  %w = onnx.Softmax %rows {axis = 2 : i64} : (tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
  %y = onnx.MatMul %w, %mv : (tensor<1x4x3xf32>, tensor<1x3x2xf32>) -> tensor<1x4x2xf32>
  %z = onnx.Reshape %y : (tensor<1x4x2xf32>) -> tensor<1x1x4x2xf32>
  return %z : tensor<1x1x4x2xf32>
}
