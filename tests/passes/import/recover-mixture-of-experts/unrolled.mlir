// The loop over experts unrolled, each on all tokens.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK: onnx.TopK
// CHECK: onnx.Concat %arg3, %arg4 {axis = 1 : i64}
// CHECK: %[[UP:.*]] = onnx.Concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : i64} : {{.*}} -> tensor<3x4x4xf32>
// CHECK: %[[DOWN:.*]] = onnx.Concat {{.*}} -> tensor<3x2x4xf32>
// CHECK-NEXT: %[[MIXTURE:.*]] = onnx.MixtureOfExperts %arg0, %{{.*}}, %arg2, %[[UP]], %[[DOWN]] {gate = "halves"}
// CHECK-NEXT: return %[[MIXTURE]]
func.func @main(%x: tensor<3x4xf32>, %logits: tensor<3x3xf32>, %weights: tensor<3x2xf32>, %gate0: tensor<4x2xf32>, %up0: tensor<4x2xf32>, %down0: tensor<2x4xf32>, %gate1: tensor<4x2xf32>, %up1: tensor<4x2xf32>, %down1: tensor<2x4xf32>, %gate2: tensor<4x2xf32>, %up2: tensor<4x2xf32>, %down2: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %z = onnx.Expand %none : (tensor<f32>) -> tensor<3x3xf32>
  %values, %indices = onnx.TopK %logits {axis = 1 : i64} : (tensor<3x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  %r = onnx.ScatterElements %z, %indices, %weights {axis = 1 : i64} : (tensor<3x3xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<3x3xf32>
  %parts:3 = onnx.Split %r {axis = 1 : i64} : (tensor<3x3xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %g0 = onnx.MatMul %x, %gate0 : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %s0 = onnx.Swish %g0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %u0 = onnx.MatMul %x, %up0 : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %a0 = onnx.Mul %s0, %u0 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %y0 = onnx.MatMul %a0, %down0 : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %w0 = onnx.Mul %y0, %parts#0 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %g2 = onnx.MatMul %x, %gate2 : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %s2 = onnx.Swish %g2 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %u2 = onnx.MatMul %x, %up2 : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %a2 = onnx.Mul %s2, %u2 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %y2 = onnx.MatMul %a2, %down2 : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %w2 = onnx.Mul %y2, %parts#2 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %acc2 = onnx.Add %w0, %w2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %g1 = onnx.MatMul %x, %gate1 : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %s1 = onnx.Swish %g1 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %u1 = onnx.MatMul %x, %up1 : (tensor<3x4xf32>, tensor<4x2xf32>) -> tensor<3x2xf32>
  %a1 = onnx.Mul %s1, %u1 : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %y1 = onnx.MatMul %a1, %down1 : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %w1 = onnx.Mul %y1, %parts#1 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %acc1 = onnx.Add %acc2, %w1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %acc1 : tensor<3x4xf32>
}

// Of a model of 16 bits, where the zeros are those of rounded probabilities.
// CHECK-LABEL: func.func @rounded(
// CHECK: onnx.MixtureOfExperts %arg0, %{{.*}}, %arg2
func.func @rounded(%x: tensor<3x4xf16>, %logits: tensor<3x3xf32>, %weights: tensor<3x2xf16>, %gate0: tensor<4x2xf16>, %up0: tensor<4x2xf16>, %down0: tensor<2x4xf16>, %gate1: tensor<4x2xf16>, %up1: tensor<4x2xf16>, %down1: tensor<2x4xf16>, %gate2: tensor<4x2xf16>, %up2: tensor<4x2xf16>, %down2: tensor<2x4xf16>) -> tensor<3x4xf16> {
  %none = onnx.Constant {value = dense<0.0> : tensor<f16>} : () -> tensor<f16>
  %p = onnx.Softmax %logits {axis = 1 : i64} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %h = onnx.Cast %p : (tensor<3x3xf32>) -> tensor<3x3xf16>
  %z = onnx.Mul %h, %none : (tensor<3x3xf16>, tensor<f16>) -> tensor<3x3xf16>
  %values, %indices = onnx.TopK %p {axis = 1 : i64} : (tensor<3x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  %r = onnx.ScatterElements %z, %indices, %weights {axis = 1 : i64} : (tensor<3x3xf16>, tensor<3x2xi64>, tensor<3x2xf16>) -> tensor<3x3xf16>
  %parts:3 = onnx.Split %r {axis = 1 : i64} : (tensor<3x3xf16>) -> (tensor<3x1xf16>, tensor<3x1xf16>, tensor<3x1xf16>)
  %g0 = onnx.MatMul %x, %gate0 : (tensor<3x4xf16>, tensor<4x2xf16>) -> tensor<3x2xf16>
  %s0 = onnx.Swish %g0 : (tensor<3x2xf16>) -> tensor<3x2xf16>
  %u0 = onnx.MatMul %x, %up0 : (tensor<3x4xf16>, tensor<4x2xf16>) -> tensor<3x2xf16>
  %a0 = onnx.Mul %s0, %u0 : (tensor<3x2xf16>, tensor<3x2xf16>) -> tensor<3x2xf16>
  %y0 = onnx.MatMul %a0, %down0 : (tensor<3x2xf16>, tensor<2x4xf16>) -> tensor<3x4xf16>
  %w0 = onnx.Mul %y0, %parts#0 : (tensor<3x4xf16>, tensor<3x1xf16>) -> tensor<3x4xf16>
  %g2 = onnx.MatMul %x, %gate2 : (tensor<3x4xf16>, tensor<4x2xf16>) -> tensor<3x2xf16>
  %s2 = onnx.Swish %g2 : (tensor<3x2xf16>) -> tensor<3x2xf16>
  %u2 = onnx.MatMul %x, %up2 : (tensor<3x4xf16>, tensor<4x2xf16>) -> tensor<3x2xf16>
  %a2 = onnx.Mul %s2, %u2 : (tensor<3x2xf16>, tensor<3x2xf16>) -> tensor<3x2xf16>
  %y2 = onnx.MatMul %a2, %down2 : (tensor<3x2xf16>, tensor<2x4xf16>) -> tensor<3x4xf16>
  %w2 = onnx.Mul %y2, %parts#2 : (tensor<3x4xf16>, tensor<3x1xf16>) -> tensor<3x4xf16>
  %acc2 = onnx.Add %w0, %w2 : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>
  %g1 = onnx.MatMul %x, %gate1 : (tensor<3x4xf16>, tensor<4x2xf16>) -> tensor<3x2xf16>
  %s1 = onnx.Swish %g1 : (tensor<3x2xf16>) -> tensor<3x2xf16>
  %u1 = onnx.MatMul %x, %up1 : (tensor<3x4xf16>, tensor<4x2xf16>) -> tensor<3x2xf16>
  %a1 = onnx.Mul %s1, %u1 : (tensor<3x2xf16>, tensor<3x2xf16>) -> tensor<3x2xf16>
  %y1 = onnx.MatMul %a1, %down1 : (tensor<3x2xf16>, tensor<2x4xf16>) -> tensor<3x4xf16>
  %w1 = onnx.Mul %y1, %parts#1 : (tensor<3x4xf16>, tensor<3x1xf16>) -> tensor<3x4xf16>
  %acc1 = onnx.Add %acc2, %w1 : (tensor<3x4xf16>, tensor<3x4xf16>) -> tensor<3x4xf16>
  return %acc1 : tensor<3x4xf16>
}
