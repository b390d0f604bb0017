// The same on the tokens that chose it, an expert that none had left out.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NOT: onnx.ReadSizes
// CHECK: %[[ZERO:.*]] = onnx.Expand %{{.*}} -> tensor<1x4x4xf32>
// CHECK: %[[UP:.*]] = onnx.Concat %{{.*}}, %[[ZERO]], %{{.*}} {axis = 0 : i64} : {{.*}} -> tensor<3x4x4xf32>
// CHECK: onnx.MixtureOfExperts %arg0, %{{.*}}, %arg2, %[[UP]], %{{.*}} {gate = "halves"}
// CHECK-NEXT: return
func.func @main(%x: tensor<3x4xf32>, %logits: tensor<3x3xf32>, %weights: tensor<3x2xf32>, %gate0: tensor<4x2xf32>, %up0: tensor<4x2xf32>, %down0: tensor<2x4xf32>, %gate1: tensor<4x2xf32>, %up1: tensor<4x2xf32>, %down1: tensor<2x4xf32>, %gate2: tensor<4x2xf32>, %up2: tensor<4x2xf32>, %down2: tensor<2x4xf32>) -> tensor<3x4xf32> {
  %none = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %z = onnx.Expand %none : (tensor<f32>) -> tensor<3x4xf32>
  %two = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %three = onnx.Constant {value = dense<3> : tensor<i64>} : () -> tensor<i64>
  %on = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %off = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %all = onnx.Constant {value = dense<[[[0, 1, 2]]]> : tensor<1x1x3xi64>} : () -> tensor<1x1x3xi64>
  %values, %indices = onnx.TopK %logits {axis = 1 : i64} : (tensor<3x3xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  %column = onnx.Reshape %weights : (tensor<3x2xf32>) -> tensor<6x1xf32>
  %ic = onnx.Reshape %indices : (tensor<3x2xi64>) -> tensor<3x2x1xi64>
  %q = onnx.Equal %ic, %all : (tensor<3x2x1xi64>, tensor<1x1x3xi64>) -> tensor<3x2x3xi1>
  %ineg = onnx.Add %ic, %three : (tensor<3x2x1xi64>, tensor<i64>) -> tensor<3x2x1xi64>
  %q2 = onnx.Equal %ineg, %all : (tensor<3x2x1xi64>, tensor<1x1x3xi64>) -> tensor<3x2x3xi1>
  %q3 = onnx.Or %q, %q2 : (tensor<3x2x3xi1>, tensor<3x2x3xi1>) -> tensor<3x2x3xi1>
  %hot = onnx.Where %q3, %on, %off : (tensor<3x2x3xi1>, tensor<i64>, tensor<i64>) -> tensor<3x2x3xi64>
  %masks = onnx.Transpose %hot {perm = array<i64: 2, 0, 1>} : (tensor<3x2x3xi64>) -> tensor<3x3x2xi64>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %m0 = onnx.Gather %masks, %e0 : (tensor<3x3x2xi64>, tensor<i64>) -> tensor<3x2xi64>
  %b0 = onnx.Cast %m0 : (tensor<3x2xi64>) -> tensor<3x2xi1>
  %c0 = onnx.Cast %b0 : (tensor<3x2xi1>) -> tensor<3x2xi64>
  %k0 = onnx.ReduceSum %c0 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<3x2xi64>) -> tensor<i64>
  onnx.ReadSizes %k0 {sizes = #dist.dims<[n0]>} : tensor<i64>
  %nz0 = onnx.NonZero %b0 : (tensor<3x2xi1>) -> tensor<2x?xi64, #dist.value<dims = [2, n0]>>
  %nt0 = onnx.Transpose %nz0 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, n0]>>) -> tensor<?x2xi64, #dist.value<dims = [n0, 2]>>
  %np0:2 = onnx.Split %nt0 {axis = 1 : i64} : (tensor<?x2xi64, #dist.value<dims = [n0, 2]>>) -> (tensor<?x1xi64, #dist.value<dims = [n0, 1]>>, tensor<?x1xi64, #dist.value<dims = [n0, 1]>>)
  %t0 = onnx.Reshape %np0#0 : (tensor<?x1xi64, #dist.value<dims = [n0, 1]>>) -> tensor<?xi64, #dist.value<dims = [n0]>>
  %i0 = onnx.Reshape %np0#1 : (tensor<?x1xi64, #dist.value<dims = [n0, 1]>>) -> tensor<?xi64, #dist.value<dims = [n0]>>
  %tk0 = onnx.Mul %t0, %two : (tensor<?xi64, #dist.value<dims = [n0]>>, tensor<1xi64>) -> tensor<?xi64, #dist.value<dims = [n0]>>
  %p0 = onnx.Add %i0, %tk0 : (tensor<?xi64, #dist.value<dims = [n0]>>, tensor<?xi64, #dist.value<dims = [n0]>>) -> tensor<?xi64, #dist.value<dims = [n0]>>
  %pw0 = onnx.Gather %column, %p0 : (tensor<6x1xf32>, tensor<?xi64, #dist.value<dims = [n0]>>) -> tensor<?x1xf32, #dist.value<dims = [n0, 1]>>
  %x0 = onnx.Gather %x, %t0 : (tensor<3x4xf32>, tensor<?xi64, #dist.value<dims = [n0]>>) -> tensor<?x4xf32, #dist.value<dims = [n0, 4]>>
  %g0 = onnx.MatMul %x0, %gate0 : (tensor<?x4xf32, #dist.value<dims = [n0, 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = [n0, 2]>>
  %s0 = onnx.Swish %g0 : (tensor<?x2xf32, #dist.value<dims = [n0, 2]>>) -> tensor<?x2xf32, #dist.value<dims = [n0, 2]>>
  %u0 = onnx.MatMul %x0, %up0 : (tensor<?x4xf32, #dist.value<dims = [n0, 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = [n0, 2]>>
  %a0 = onnx.Mul %s0, %u0 : (tensor<?x2xf32, #dist.value<dims = [n0, 2]>>, tensor<?x2xf32, #dist.value<dims = [n0, 2]>>) -> tensor<?x2xf32, #dist.value<dims = [n0, 2]>>
  %y0 = onnx.MatMul %a0, %down0 : (tensor<?x2xf32, #dist.value<dims = [n0, 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = [n0, 4]>>
  %w0 = onnx.Mul %y0, %pw0 : (tensor<?x4xf32, #dist.value<dims = [n0, 4]>>, tensor<?x1xf32, #dist.value<dims = [n0, 1]>>) -> tensor<?x4xf32, #dist.value<dims = [n0, 4]>>
  %to0 = onnx.Expand %np0#0 : (tensor<?x1xi64, #dist.value<dims = [n0, 1]>>) -> tensor<?x4xi64, #dist.value<dims = [n0, 4]>>
  %sc0 = onnx.ScatterElements %z, %to0, %w0 : (tensor<3x4xf32>, tensor<?x4xi64, #dist.value<dims = [n0, 4]>>, tensor<?x4xf32, #dist.value<dims = [n0, 4]>>) -> tensor<3x4xf32>
  %acc0 = onnx.Add %z, %sc0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %e2 = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %m2 = onnx.Gather %masks, %e2 : (tensor<3x3x2xi64>, tensor<i64>) -> tensor<3x2xi64>
  %b2 = onnx.Cast %m2 : (tensor<3x2xi64>) -> tensor<3x2xi1>
  %c2 = onnx.Cast %b2 : (tensor<3x2xi1>) -> tensor<3x2xi64>
  %k2 = onnx.ReduceSum %c2 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<3x2xi64>) -> tensor<i64>
  onnx.ReadSizes %k2 {sizes = #dist.dims<[n2]>} : tensor<i64>
  %nz2 = onnx.NonZero %b2 : (tensor<3x2xi1>) -> tensor<2x?xi64, #dist.value<dims = [2, n2]>>
  %nt2 = onnx.Transpose %nz2 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, n2]>>) -> tensor<?x2xi64, #dist.value<dims = [n2, 2]>>
  %np2:2 = onnx.Split %nt2 {axis = 1 : i64} : (tensor<?x2xi64, #dist.value<dims = [n2, 2]>>) -> (tensor<?x1xi64, #dist.value<dims = [n2, 1]>>, tensor<?x1xi64, #dist.value<dims = [n2, 1]>>)
  %t2 = onnx.Reshape %np2#0 : (tensor<?x1xi64, #dist.value<dims = [n2, 1]>>) -> tensor<?xi64, #dist.value<dims = [n2]>>
  %i2 = onnx.Reshape %np2#1 : (tensor<?x1xi64, #dist.value<dims = [n2, 1]>>) -> tensor<?xi64, #dist.value<dims = [n2]>>
  %tk2 = onnx.Mul %t2, %two : (tensor<?xi64, #dist.value<dims = [n2]>>, tensor<1xi64>) -> tensor<?xi64, #dist.value<dims = [n2]>>
  %p2 = onnx.Add %i2, %tk2 : (tensor<?xi64, #dist.value<dims = [n2]>>, tensor<?xi64, #dist.value<dims = [n2]>>) -> tensor<?xi64, #dist.value<dims = [n2]>>
  %pw2 = onnx.Gather %column, %p2 : (tensor<6x1xf32>, tensor<?xi64, #dist.value<dims = [n2]>>) -> tensor<?x1xf32, #dist.value<dims = [n2, 1]>>
  %x2 = onnx.Gather %x, %t2 : (tensor<3x4xf32>, tensor<?xi64, #dist.value<dims = [n2]>>) -> tensor<?x4xf32, #dist.value<dims = [n2, 4]>>
  %g2 = onnx.MatMul %x2, %gate2 : (tensor<?x4xf32, #dist.value<dims = [n2, 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = [n2, 2]>>
  %s2 = onnx.Swish %g2 : (tensor<?x2xf32, #dist.value<dims = [n2, 2]>>) -> tensor<?x2xf32, #dist.value<dims = [n2, 2]>>
  %u2 = onnx.MatMul %x2, %up2 : (tensor<?x4xf32, #dist.value<dims = [n2, 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = [n2, 2]>>
  %a2 = onnx.Mul %s2, %u2 : (tensor<?x2xf32, #dist.value<dims = [n2, 2]>>, tensor<?x2xf32, #dist.value<dims = [n2, 2]>>) -> tensor<?x2xf32, #dist.value<dims = [n2, 2]>>
  %y2 = onnx.MatMul %a2, %down2 : (tensor<?x2xf32, #dist.value<dims = [n2, 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = [n2, 4]>>
  %w2 = onnx.Mul %y2, %pw2 : (tensor<?x4xf32, #dist.value<dims = [n2, 4]>>, tensor<?x1xf32, #dist.value<dims = [n2, 1]>>) -> tensor<?x4xf32, #dist.value<dims = [n2, 4]>>
  %to2 = onnx.Expand %np2#0 : (tensor<?x1xi64, #dist.value<dims = [n2, 1]>>) -> tensor<?x4xi64, #dist.value<dims = [n2, 4]>>
  %sc2 = onnx.ScatterElements %z, %to2, %w2 : (tensor<3x4xf32>, tensor<?x4xi64, #dist.value<dims = [n2, 4]>>, tensor<?x4xf32, #dist.value<dims = [n2, 4]>>) -> tensor<3x4xf32>
  %acc2 = onnx.Add %acc0, %sc2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %acc2 : tensor<3x4xf32>
}
