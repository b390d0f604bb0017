// Almost: places of experts that are read the wrong way around.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s
// CHECK-NOT: onnx.MixtureOfExperts

// The weight of another choice.
func.func @exchanged(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>, %logits: tensor<?x3xf32, #dist.value<dims = [n, 3]>>, %up0: tensor<4x2xf32>, %down0: tensor<2x4xf32>, %up1: tensor<4x2xf32>, %down1: tensor<2x4xf32>, %up2: tensor<4x2xf32>, %down2: tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>> {
  %values, %indices = onnx.TopK %logits {axis = 1 : i64} : (tensor<?x3xf32, #dist.value<dims = [n, 3]>>) -> (tensor<?x2xf32, #dist.value<dims = [n, 2]>>, tensor<?x2xi64, #dist.value<dims = [n, 2]>>)
  %column = onnx.Reshape %indices : (tensor<?x2xi64, #dist.value<dims = [n, 2]>>) -> tensor<?x2x1xi64, #dist.value<dims = [n, 2, 1]>>
  %experts = onnx.Constant {value = dense<[[[0, 1, 2]]]> : tensor<1x1x3xi64>} : () -> tensor<1x1x3xi64>
  %equal = onnx.Equal %column, %experts : (tensor<?x2x1xi64, #dist.value<dims = [n, 2, 1]>>, tensor<1x1x3xi64>) -> tensor<?x2x3xi1, #dist.value<dims = [n, 2, 3]>>
  %yes = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %no = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %hot = onnx.Where %equal, %yes, %no : (tensor<?x2x3xi1, #dist.value<dims = [n, 2, 3]>>, tensor<i64>, tensor<i64>) -> tensor<?x2x3xi64, #dist.value<dims = [n, 2, 3]>>
  %moved = onnx.Transpose %hot {perm = array<i64: 2, 1, 0>} : (tensor<?x2x3xi64, #dist.value<dims = [n, 2, 3]>>) -> tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>
  %front = onnx.Reshape %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>
  %flat = onnx.Reshape %values : (tensor<?x2xf32, #dist.value<dims = [n, 2]>>) -> tensor<?x1xf32, #dist.value<dims = [n * 2, 1]>>
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %zeros = onnx.Expand %zero : (tensor<f32>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one0 = onnx.Gather %moved, %e0 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is0 = onnx.Cast %one0 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c0 = onnx.Cast %is0 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s0 = onnx.ReduceSum %c0 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s0 {sizes = #dist.dims<["places 0"]>} : tensor<i64>
  %nz0 = onnx.NonZero %is0 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 0"]>>
  %nzt0 = onnx.Transpose %nz0 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 0"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>
  %q0:2 = onnx.Split %nzt0 {axis = 1 : i64} : (tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>) -> (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>)
  %p0_0 = onnx.Reshape %q0#0 : (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 0"]>>
  %p0_1 = onnx.Reshape %q0#1 : (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 0"]>>
  %g0 = onnx.Gather %front, %p0_1 {axis = 1 : i64} : (tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>, tensor<?xi64, #dist.value<dims = ["places 0"]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 0", 4]>>
  %r0 = onnx.Reshape %g0 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 0", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %u0 = onnx.MatMul %r0, %up0 : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %h0 = onnx.Swish %u0 : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %y0 = onnx.MatMul %h0, %down0 : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %m0 = onnx.Mul %p0_0, %two : (tensor<?xi64, #dist.value<dims = ["places 0"]>>, tensor<1xi64>) -> tensor<?xi64, #dist.value<dims = ["places 0"]>>
  %a0 = onnx.Add %p0_1, %m0 : (tensor<?xi64, #dist.value<dims = ["places 0"]>>, tensor<?xi64, #dist.value<dims = ["places 0"]>>) -> tensor<?xi64, #dist.value<dims = ["places 0"]>>
  %w0 = onnx.Gather %flat, %a0 : (tensor<?x1xf32, #dist.value<dims = [n * 2, 1]>>, tensor<?xi64, #dist.value<dims = ["places 0"]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 0", 1]>>
  %z0 = onnx.Mul %y0, %w0 : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %ix0 = onnx.Expand %q0#1 : (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x4xi64, #dist.value<dims = ["places 0", 4]>>
  %t0 = onnx.ScatterElements %zeros, %ix0, %z0 {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xi64, #dist.value<dims = ["places 0", 4]>>, tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %sum0 = onnx.Add %zeros, %t0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e1 = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %one1 = onnx.Gather %moved, %e1 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is1 = onnx.Cast %one1 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c1 = onnx.Cast %is1 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s1 = onnx.ReduceSum %c1 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s1 {sizes = #dist.dims<["places 1"]>} : tensor<i64>
  %nz1 = onnx.NonZero %is1 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 1"]>>
  %nzt1 = onnx.Transpose %nz1 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 1"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>
  %q1:2 = onnx.Split %nzt1 {axis = 1 : i64} : (tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>) -> (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>)
  %p1_0 = onnx.Reshape %q1#0 : (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 1"]>>
  %p1_1 = onnx.Reshape %q1#1 : (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 1"]>>
  %g1 = onnx.Gather %front, %p1_1 {axis = 1 : i64} : (tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>, tensor<?xi64, #dist.value<dims = ["places 1"]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 1", 4]>>
  %r1 = onnx.Reshape %g1 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 1", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %u1 = onnx.MatMul %r1, %up1 : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %h1 = onnx.Swish %u1 : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %y1 = onnx.MatMul %h1, %down1 : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %m1 = onnx.Mul %p1_0, %two : (tensor<?xi64, #dist.value<dims = ["places 1"]>>, tensor<1xi64>) -> tensor<?xi64, #dist.value<dims = ["places 1"]>>
  %a1 = onnx.Add %p1_1, %m1 : (tensor<?xi64, #dist.value<dims = ["places 1"]>>, tensor<?xi64, #dist.value<dims = ["places 1"]>>) -> tensor<?xi64, #dist.value<dims = ["places 1"]>>
  %w1 = onnx.Gather %flat, %a1 : (tensor<?x1xf32, #dist.value<dims = [n * 2, 1]>>, tensor<?xi64, #dist.value<dims = ["places 1"]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 1", 1]>>
  %z1 = onnx.Mul %y1, %w1 : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %ix1 = onnx.Expand %q1#1 : (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x4xi64, #dist.value<dims = ["places 1", 4]>>
  %t1 = onnx.ScatterElements %zeros, %ix1, %z1 {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xi64, #dist.value<dims = ["places 1", 4]>>, tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %sum1 = onnx.Add %sum0, %t1 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e2 = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %one2 = onnx.Gather %moved, %e2 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is2 = onnx.Cast %one2 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c2 = onnx.Cast %is2 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s2 = onnx.ReduceSum %c2 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s2 {sizes = #dist.dims<["places 2"]>} : tensor<i64>
  %nz2 = onnx.NonZero %is2 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 2"]>>
  %nzt2 = onnx.Transpose %nz2 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 2"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>
  %q2:2 = onnx.Split %nzt2 {axis = 1 : i64} : (tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>) -> (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>)
  %p2_0 = onnx.Reshape %q2#0 : (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 2"]>>
  %p2_1 = onnx.Reshape %q2#1 : (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 2"]>>
  %g2 = onnx.Gather %front, %p2_1 {axis = 1 : i64} : (tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>, tensor<?xi64, #dist.value<dims = ["places 2"]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 2", 4]>>
  %r2 = onnx.Reshape %g2 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 2", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %u2 = onnx.MatMul %r2, %up2 : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %h2 = onnx.Swish %u2 : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %y2 = onnx.MatMul %h2, %down2 : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %m2 = onnx.Mul %p2_0, %two : (tensor<?xi64, #dist.value<dims = ["places 2"]>>, tensor<1xi64>) -> tensor<?xi64, #dist.value<dims = ["places 2"]>>
  %a2 = onnx.Add %p2_1, %m2 : (tensor<?xi64, #dist.value<dims = ["places 2"]>>, tensor<?xi64, #dist.value<dims = ["places 2"]>>) -> tensor<?xi64, #dist.value<dims = ["places 2"]>>
  %w2 = onnx.Gather %flat, %a2 : (tensor<?x1xf32, #dist.value<dims = [n * 2, 1]>>, tensor<?xi64, #dist.value<dims = ["places 2"]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 2", 1]>>
  %z2 = onnx.Mul %y2, %w2 : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %ix2 = onnx.Expand %q2#1 : (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x4xi64, #dist.value<dims = ["places 2", 4]>>
  %t2 = onnx.ScatterElements %zeros, %ix2, %z2 {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xi64, #dist.value<dims = ["places 2", 4]>>, tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %sum2 = onnx.Add %sum1, %t2 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  return %sum2 : tensor<?x4xf32, #dist.value<dims = [n, 4]>>
}

// Choices are taken for tokens.
func.func @other_part(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>, %logits: tensor<?x3xf32, #dist.value<dims = [n, 3]>>, %up0: tensor<4x2xf32>, %down0: tensor<2x4xf32>, %up1: tensor<4x2xf32>, %down1: tensor<2x4xf32>, %up2: tensor<4x2xf32>, %down2: tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>> {
  %values, %indices = onnx.TopK %logits {axis = 1 : i64} : (tensor<?x3xf32, #dist.value<dims = [n, 3]>>) -> (tensor<?x2xf32, #dist.value<dims = [n, 2]>>, tensor<?x2xi64, #dist.value<dims = [n, 2]>>)
  %column = onnx.Reshape %indices : (tensor<?x2xi64, #dist.value<dims = [n, 2]>>) -> tensor<?x2x1xi64, #dist.value<dims = [n, 2, 1]>>
  %experts = onnx.Constant {value = dense<[[[0, 1, 2]]]> : tensor<1x1x3xi64>} : () -> tensor<1x1x3xi64>
  %equal = onnx.Equal %column, %experts : (tensor<?x2x1xi64, #dist.value<dims = [n, 2, 1]>>, tensor<1x1x3xi64>) -> tensor<?x2x3xi1, #dist.value<dims = [n, 2, 3]>>
  %yes = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %no = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %hot = onnx.Where %equal, %yes, %no : (tensor<?x2x3xi1, #dist.value<dims = [n, 2, 3]>>, tensor<i64>, tensor<i64>) -> tensor<?x2x3xi64, #dist.value<dims = [n, 2, 3]>>
  %moved = onnx.Transpose %hot {perm = array<i64: 2, 1, 0>} : (tensor<?x2x3xi64, #dist.value<dims = [n, 2, 3]>>) -> tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>
  %front = onnx.Reshape %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>
  %flat = onnx.Reshape %values : (tensor<?x2xf32, #dist.value<dims = [n, 2]>>) -> tensor<?x1xf32, #dist.value<dims = [n * 2, 1]>>
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %zeros = onnx.Expand %zero : (tensor<f32>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one0 = onnx.Gather %moved, %e0 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is0 = onnx.Cast %one0 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c0 = onnx.Cast %is0 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s0 = onnx.ReduceSum %c0 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s0 {sizes = #dist.dims<["places 0"]>} : tensor<i64>
  %nz0 = onnx.NonZero %is0 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 0"]>>
  %nzt0 = onnx.Transpose %nz0 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 0"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>
  %q0:2 = onnx.Split %nzt0 {axis = 1 : i64} : (tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>) -> (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>)
  %p0_0 = onnx.Reshape %q0#0 : (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 0"]>>
  %p0_1 = onnx.Reshape %q0#1 : (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 0"]>>
  %g0 = onnx.Gather %front, %p0_0 {axis = 1 : i64} : (tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>, tensor<?xi64, #dist.value<dims = ["places 0"]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 0", 4]>>
  %r0 = onnx.Reshape %g0 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 0", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %u0 = onnx.MatMul %r0, %up0 : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %h0 = onnx.Swish %u0 : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %y0 = onnx.MatMul %h0, %down0 : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %m0 = onnx.Mul %p0_0, %two : (tensor<?xi64, #dist.value<dims = ["places 0"]>>, tensor<1xi64>) -> tensor<?xi64, #dist.value<dims = ["places 0"]>>
  %a0 = onnx.Add %p0_1, %m0 : (tensor<?xi64, #dist.value<dims = ["places 0"]>>, tensor<?xi64, #dist.value<dims = ["places 0"]>>) -> tensor<?xi64, #dist.value<dims = ["places 0"]>>
  %w0 = onnx.Gather %flat, %a0 : (tensor<?x1xf32, #dist.value<dims = [n * 2, 1]>>, tensor<?xi64, #dist.value<dims = ["places 0"]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 0", 1]>>
  %z0 = onnx.Mul %y0, %w0 : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %ix0 = onnx.Expand %q0#0 : (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x4xi64, #dist.value<dims = ["places 0", 4]>>
  %t0 = onnx.ScatterElements %zeros, %ix0, %z0 {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xi64, #dist.value<dims = ["places 0", 4]>>, tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %sum0 = onnx.Add %zeros, %t0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e1 = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %one1 = onnx.Gather %moved, %e1 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is1 = onnx.Cast %one1 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c1 = onnx.Cast %is1 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s1 = onnx.ReduceSum %c1 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s1 {sizes = #dist.dims<["places 1"]>} : tensor<i64>
  %nz1 = onnx.NonZero %is1 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 1"]>>
  %nzt1 = onnx.Transpose %nz1 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 1"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>
  %q1:2 = onnx.Split %nzt1 {axis = 1 : i64} : (tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>) -> (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>)
  %p1_0 = onnx.Reshape %q1#0 : (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 1"]>>
  %p1_1 = onnx.Reshape %q1#1 : (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 1"]>>
  %g1 = onnx.Gather %front, %p1_0 {axis = 1 : i64} : (tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>, tensor<?xi64, #dist.value<dims = ["places 1"]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 1", 4]>>
  %r1 = onnx.Reshape %g1 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 1", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %u1 = onnx.MatMul %r1, %up1 : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %h1 = onnx.Swish %u1 : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %y1 = onnx.MatMul %h1, %down1 : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %m1 = onnx.Mul %p1_0, %two : (tensor<?xi64, #dist.value<dims = ["places 1"]>>, tensor<1xi64>) -> tensor<?xi64, #dist.value<dims = ["places 1"]>>
  %a1 = onnx.Add %p1_1, %m1 : (tensor<?xi64, #dist.value<dims = ["places 1"]>>, tensor<?xi64, #dist.value<dims = ["places 1"]>>) -> tensor<?xi64, #dist.value<dims = ["places 1"]>>
  %w1 = onnx.Gather %flat, %a1 : (tensor<?x1xf32, #dist.value<dims = [n * 2, 1]>>, tensor<?xi64, #dist.value<dims = ["places 1"]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 1", 1]>>
  %z1 = onnx.Mul %y1, %w1 : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %ix1 = onnx.Expand %q1#0 : (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x4xi64, #dist.value<dims = ["places 1", 4]>>
  %t1 = onnx.ScatterElements %zeros, %ix1, %z1 {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xi64, #dist.value<dims = ["places 1", 4]>>, tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %sum1 = onnx.Add %sum0, %t1 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e2 = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %one2 = onnx.Gather %moved, %e2 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is2 = onnx.Cast %one2 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c2 = onnx.Cast %is2 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s2 = onnx.ReduceSum %c2 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s2 {sizes = #dist.dims<["places 2"]>} : tensor<i64>
  %nz2 = onnx.NonZero %is2 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 2"]>>
  %nzt2 = onnx.Transpose %nz2 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 2"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>
  %q2:2 = onnx.Split %nzt2 {axis = 1 : i64} : (tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>) -> (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>)
  %p2_0 = onnx.Reshape %q2#0 : (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 2"]>>
  %p2_1 = onnx.Reshape %q2#1 : (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?xi64, #dist.value<dims = ["places 2"]>>
  %g2 = onnx.Gather %front, %p2_0 {axis = 1 : i64} : (tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>, tensor<?xi64, #dist.value<dims = ["places 2"]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 2", 4]>>
  %r2 = onnx.Reshape %g2 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 2", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %u2 = onnx.MatMul %r2, %up2 : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<4x2xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %h2 = onnx.Swish %u2 : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %y2 = onnx.MatMul %h2, %down2 : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %m2 = onnx.Mul %p2_0, %two : (tensor<?xi64, #dist.value<dims = ["places 2"]>>, tensor<1xi64>) -> tensor<?xi64, #dist.value<dims = ["places 2"]>>
  %a2 = onnx.Add %p2_1, %m2 : (tensor<?xi64, #dist.value<dims = ["places 2"]>>, tensor<?xi64, #dist.value<dims = ["places 2"]>>) -> tensor<?xi64, #dist.value<dims = ["places 2"]>>
  %w2 = onnx.Gather %flat, %a2 : (tensor<?x1xf32, #dist.value<dims = [n * 2, 1]>>, tensor<?xi64, #dist.value<dims = ["places 2"]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 2", 1]>>
  %z2 = onnx.Mul %y2, %w2 : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %ix2 = onnx.Expand %q2#0 : (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x4xi64, #dist.value<dims = ["places 2", 4]>>
  %t2 = onnx.ScatterElements %zeros, %ix2, %z2 {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xi64, #dist.value<dims = ["places 2", 4]>>, tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %sum2 = onnx.Add %sum1, %t2 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  return %sum2 : tensor<?x4xf32, #dist.value<dims = [n, 4]>>
}

// The last expert's rows take the place of what the others made.
func.func @in_place_of(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>, %logits: tensor<?x3xf32, #dist.value<dims = [n, 3]>>, %gate0: tensor<2x4xf32>, %up0: tensor<2x4xf32>, %down0: tensor<4x2xf32>, %gate1: tensor<2x4xf32>, %up1: tensor<2x4xf32>, %down1: tensor<4x2xf32>, %gate2: tensor<2x4xf32>, %up2: tensor<2x4xf32>, %down2: tensor<4x2xf32>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>> {
  %values, %indices = onnx.TopK %logits {axis = 1 : i64} : (tensor<?x3xf32, #dist.value<dims = [n, 3]>>) -> (tensor<?x2xf32, #dist.value<dims = [n, 2]>>, tensor<?x2xi64, #dist.value<dims = [n, 2]>>)
  %column = onnx.Reshape %indices : (tensor<?x2xi64, #dist.value<dims = [n, 2]>>) -> tensor<?x2x1xi64, #dist.value<dims = [n, 2, 1]>>
  %experts = onnx.Constant {value = dense<[0, 1, 2]> : tensor<3xi64>} : () -> tensor<3xi64>
  %equal = onnx.Equal %column, %experts : (tensor<?x2x1xi64, #dist.value<dims = [n, 2, 1]>>, tensor<3xi64>) -> tensor<?x2x3xi1, #dist.value<dims = [n, 2, 3]>>
  %hot = onnx.Cast %equal : (tensor<?x2x3xi1, #dist.value<dims = [n, 2, 3]>>) -> tensor<?x2x3xi64, #dist.value<dims = [n, 2, 3]>>
  %moved = onnx.Transpose %hot {perm = array<i64: 2, 1, 0>} : (tensor<?x2x3xi64, #dist.value<dims = [n, 2, 3]>>) -> tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>
  %front = onnx.Reshape %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>
  %rows = onnx.Transpose %front {perm = array<i64: 1, 0, 2>} : (tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>) -> tensor<?x1x4xf32, #dist.value<dims = [n, 1, 4]>>
  %w = onnx.Reshape %values : (tensor<?x2xf32, #dist.value<dims = [n, 2]>>) -> tensor<?x2x1xf32, #dist.value<dims = [n, 2, 1]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %sum = onnx.Expand %zero : (tensor<f32>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one0 = onnx.Gather %moved, %e0 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is0 = onnx.Cast %one0 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c0 = onnx.Cast %is0 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s0 = onnx.ReduceSum %c0 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s0 {sizes = #dist.dims<["places 0"]>} : tensor<i64>
  %nz0 = onnx.NonZero %one0 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 0"]>>
  %nzt0 = onnx.Transpose %nz0 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 0"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>
  %p0_0 = onnx.Slice %nzt0 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>
  %p0_1 = onnx.Slice %nzt0 {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>
  %g0 = onnx.GatherND %rows, %p0_1 : (tensor<?x1x4xf32, #dist.value<dims = [n, 1, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x1x4xf32, #dist.value<dims = ["places 0", 1, 4]>>
  %m0 = onnx.Transpose %g0 {perm = array<i64: 1, 0, 2>} : (tensor<?x1x4xf32, #dist.value<dims = ["places 0", 1, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 0", 4]>>
  %r0 = onnx.Reshape %m0 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 0", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %a0 = onnx.Gemm %r0, %gate0 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %b0 = onnx.Swish %a0 : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %u0 = onnx.Gemm %r0, %up0 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %h0 = onnx.Mul %b0, %u0 : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>, tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %y0 = onnx.Gemm %h0, %down0 {transB = 1 : i64} : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>, tensor<4x2xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %at0 = onnx.Concat %p0_1, %p0_0 {axis = 1 : i64} : (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>
  %w0 = onnx.GatherND %w, %at0 : (tensor<?x2x1xf32, #dist.value<dims = [n, 2, 1]>>, tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 0", 1]>>
  %z0 = onnx.Mul %y0, %w0 : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %sum0 = onnx.ScatterND %sum, %p0_1, %z0 {reduction = "none"} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>, tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e1 = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %one1 = onnx.Gather %moved, %e1 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is1 = onnx.Cast %one1 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c1 = onnx.Cast %is1 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s1 = onnx.ReduceSum %c1 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s1 {sizes = #dist.dims<["places 1"]>} : tensor<i64>
  %nz1 = onnx.NonZero %one1 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 1"]>>
  %nzt1 = onnx.Transpose %nz1 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 1"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>
  %p1_0 = onnx.Slice %nzt1 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>
  %p1_1 = onnx.Slice %nzt1 {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>
  %g1 = onnx.GatherND %rows, %p1_1 : (tensor<?x1x4xf32, #dist.value<dims = [n, 1, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x1x4xf32, #dist.value<dims = ["places 1", 1, 4]>>
  %m1 = onnx.Transpose %g1 {perm = array<i64: 1, 0, 2>} : (tensor<?x1x4xf32, #dist.value<dims = ["places 1", 1, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 1", 4]>>
  %r1 = onnx.Reshape %m1 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 1", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %a1 = onnx.Gemm %r1, %gate1 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %b1 = onnx.Swish %a1 : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %u1 = onnx.Gemm %r1, %up1 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %h1 = onnx.Mul %b1, %u1 : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>, tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %y1 = onnx.Gemm %h1, %down1 {transB = 1 : i64} : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>, tensor<4x2xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %at1 = onnx.Concat %p1_1, %p1_0 {axis = 1 : i64} : (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>
  %w1 = onnx.GatherND %w, %at1 : (tensor<?x2x1xf32, #dist.value<dims = [n, 2, 1]>>, tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 1", 1]>>
  %z1 = onnx.Mul %y1, %w1 : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %sum1 = onnx.ScatterND %sum0, %p1_1, %z1 {reduction = "none"} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>, tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e2 = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %one2 = onnx.Gather %moved, %e2 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is2 = onnx.Cast %one2 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c2 = onnx.Cast %is2 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s2 = onnx.ReduceSum %c2 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s2 {sizes = #dist.dims<["places 2"]>} : tensor<i64>
  %nz2 = onnx.NonZero %one2 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 2"]>>
  %nzt2 = onnx.Transpose %nz2 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 2"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>
  %p2_0 = onnx.Slice %nzt2 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>
  %p2_1 = onnx.Slice %nzt2 {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>
  %g2 = onnx.GatherND %rows, %p2_1 : (tensor<?x1x4xf32, #dist.value<dims = [n, 1, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x1x4xf32, #dist.value<dims = ["places 2", 1, 4]>>
  %m2 = onnx.Transpose %g2 {perm = array<i64: 1, 0, 2>} : (tensor<?x1x4xf32, #dist.value<dims = ["places 2", 1, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 2", 4]>>
  %r2 = onnx.Reshape %m2 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 2", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %a2 = onnx.Gemm %r2, %gate2 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %b2 = onnx.Swish %a2 : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %u2 = onnx.Gemm %r2, %up2 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %h2 = onnx.Mul %b2, %u2 : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>, tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %y2 = onnx.Gemm %h2, %down2 {transB = 1 : i64} : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>, tensor<4x2xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %at2 = onnx.Concat %p2_1, %p2_0 {axis = 1 : i64} : (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>
  %w2 = onnx.GatherND %w, %at2 : (tensor<?x2x1xf32, #dist.value<dims = [n, 2, 1]>>, tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 2", 1]>>
  %z2 = onnx.Mul %y2, %w2 : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %sum2 = onnx.ScatterND %sum1, %p2_1, %z2 {reduction = "none"} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>, tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  return %sum2 : tensor<?x4xf32, #dist.value<dims = [n, 4]>>
}

// The weight of another choice.
func.func @exchanged_columns(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>, %logits: tensor<?x3xf32, #dist.value<dims = [n, 3]>>, %gate0: tensor<2x4xf32>, %up0: tensor<2x4xf32>, %down0: tensor<4x2xf32>, %gate1: tensor<2x4xf32>, %up1: tensor<2x4xf32>, %down1: tensor<4x2xf32>, %gate2: tensor<2x4xf32>, %up2: tensor<2x4xf32>, %down2: tensor<4x2xf32>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>> {
  %values, %indices = onnx.TopK %logits {axis = 1 : i64} : (tensor<?x3xf32, #dist.value<dims = [n, 3]>>) -> (tensor<?x2xf32, #dist.value<dims = [n, 2]>>, tensor<?x2xi64, #dist.value<dims = [n, 2]>>)
  %column = onnx.Reshape %indices : (tensor<?x2xi64, #dist.value<dims = [n, 2]>>) -> tensor<?x2x1xi64, #dist.value<dims = [n, 2, 1]>>
  %experts = onnx.Constant {value = dense<[0, 1, 2]> : tensor<3xi64>} : () -> tensor<3xi64>
  %equal = onnx.Equal %column, %experts : (tensor<?x2x1xi64, #dist.value<dims = [n, 2, 1]>>, tensor<3xi64>) -> tensor<?x2x3xi1, #dist.value<dims = [n, 2, 3]>>
  %hot = onnx.Cast %equal : (tensor<?x2x3xi1, #dist.value<dims = [n, 2, 3]>>) -> tensor<?x2x3xi64, #dist.value<dims = [n, 2, 3]>>
  %moved = onnx.Transpose %hot {perm = array<i64: 2, 1, 0>} : (tensor<?x2x3xi64, #dist.value<dims = [n, 2, 3]>>) -> tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>
  %front = onnx.Reshape %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>
  %rows = onnx.Transpose %front {perm = array<i64: 1, 0, 2>} : (tensor<1x?x4xf32, #dist.value<dims = [1, n, 4]>>) -> tensor<?x1x4xf32, #dist.value<dims = [n, 1, 4]>>
  %w = onnx.Reshape %values : (tensor<?x2xf32, #dist.value<dims = [n, 2]>>) -> tensor<?x2x1xf32, #dist.value<dims = [n, 2, 1]>>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %sum = onnx.Expand %zero : (tensor<f32>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e0 = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one0 = onnx.Gather %moved, %e0 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is0 = onnx.Cast %one0 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c0 = onnx.Cast %is0 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s0 = onnx.ReduceSum %c0 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s0 {sizes = #dist.dims<["places 0"]>} : tensor<i64>
  %nz0 = onnx.NonZero %one0 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 0"]>>
  %nzt0 = onnx.Transpose %nz0 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 0"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>
  %p0_0 = onnx.Slice %nzt0 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>
  %p0_1 = onnx.Slice %nzt0 {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>
  %g0 = onnx.GatherND %rows, %p0_1 : (tensor<?x1x4xf32, #dist.value<dims = [n, 1, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x1x4xf32, #dist.value<dims = ["places 0", 1, 4]>>
  %m0 = onnx.Transpose %g0 {perm = array<i64: 1, 0, 2>} : (tensor<?x1x4xf32, #dist.value<dims = ["places 0", 1, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 0", 4]>>
  %r0 = onnx.Reshape %m0 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 0", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %a0 = onnx.Gemm %r0, %gate0 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %b0 = onnx.Swish %a0 : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %u0 = onnx.Gemm %r0, %up0 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %h0 = onnx.Mul %b0, %u0 : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>, tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>
  %y0 = onnx.Gemm %h0, %down0 {transB = 1 : i64} : (tensor<?x2xf32, #dist.value<dims = ["places 0", 2]>>, tensor<4x2xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %at0 = onnx.Concat %p0_0, %p0_1 {axis = 1 : i64} : (tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>
  %w0 = onnx.GatherND %w, %at0 : (tensor<?x2x1xf32, #dist.value<dims = [n, 2, 1]>>, tensor<?x2xi64, #dist.value<dims = ["places 0", 2]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 0", 1]>>
  %z0 = onnx.Mul %y0, %w0 : (tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 0", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>
  %sum0 = onnx.ScatterND %sum, %p0_1, %z0 {reduction = "add"} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 0", 1]>>, tensor<?x4xf32, #dist.value<dims = ["places 0", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e1 = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %one1 = onnx.Gather %moved, %e1 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is1 = onnx.Cast %one1 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c1 = onnx.Cast %is1 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s1 = onnx.ReduceSum %c1 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s1 {sizes = #dist.dims<["places 1"]>} : tensor<i64>
  %nz1 = onnx.NonZero %one1 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 1"]>>
  %nzt1 = onnx.Transpose %nz1 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 1"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>
  %p1_0 = onnx.Slice %nzt1 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>
  %p1_1 = onnx.Slice %nzt1 {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>
  %g1 = onnx.GatherND %rows, %p1_1 : (tensor<?x1x4xf32, #dist.value<dims = [n, 1, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x1x4xf32, #dist.value<dims = ["places 1", 1, 4]>>
  %m1 = onnx.Transpose %g1 {perm = array<i64: 1, 0, 2>} : (tensor<?x1x4xf32, #dist.value<dims = ["places 1", 1, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 1", 4]>>
  %r1 = onnx.Reshape %m1 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 1", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %a1 = onnx.Gemm %r1, %gate1 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %b1 = onnx.Swish %a1 : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %u1 = onnx.Gemm %r1, %up1 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %h1 = onnx.Mul %b1, %u1 : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>, tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>
  %y1 = onnx.Gemm %h1, %down1 {transB = 1 : i64} : (tensor<?x2xf32, #dist.value<dims = ["places 1", 2]>>, tensor<4x2xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %at1 = onnx.Concat %p1_0, %p1_1 {axis = 1 : i64} : (tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>
  %w1 = onnx.GatherND %w, %at1 : (tensor<?x2x1xf32, #dist.value<dims = [n, 2, 1]>>, tensor<?x2xi64, #dist.value<dims = ["places 1", 2]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 1", 1]>>
  %z1 = onnx.Mul %y1, %w1 : (tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 1", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>
  %sum1 = onnx.ScatterND %sum0, %p1_1, %z1 {reduction = "add"} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 1", 1]>>, tensor<?x4xf32, #dist.value<dims = ["places 1", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  %e2 = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %one2 = onnx.Gather %moved, %e2 : (tensor<3x2x?xi64, #dist.value<dims = [3, 2, n]>>, tensor<i64>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %is2 = onnx.Cast %one2 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi1, #dist.value<dims = [2, n]>>
  %c2 = onnx.Cast %is2 : (tensor<2x?xi1, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, n]>>
  %s2 = onnx.ReduceSum %c2 {axes = array<i64: 0, 1>, keepdims = 0 : i64} : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<i64>
  onnx.ReadSizes %s2 {sizes = #dist.dims<["places 2"]>} : tensor<i64>
  %nz2 = onnx.NonZero %one2 : (tensor<2x?xi64, #dist.value<dims = [2, n]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "places 2"]>>
  %nzt2 = onnx.Transpose %nz2 {perm = array<i64: 1, 0>} : (tensor<2x?xi64, #dist.value<dims = [2, "places 2"]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>
  %p2_0 = onnx.Slice %nzt2 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>
  %p2_1 = onnx.Slice %nzt2 {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 1>} : (tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>
  %g2 = onnx.GatherND %rows, %p2_1 : (tensor<?x1x4xf32, #dist.value<dims = [n, 1, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x1x4xf32, #dist.value<dims = ["places 2", 1, 4]>>
  %m2 = onnx.Transpose %g2 {perm = array<i64: 1, 0, 2>} : (tensor<?x1x4xf32, #dist.value<dims = ["places 2", 1, 4]>>) -> tensor<1x?x4xf32, #dist.value<dims = [1, "places 2", 4]>>
  %r2 = onnx.Reshape %m2 : (tensor<1x?x4xf32, #dist.value<dims = [1, "places 2", 4]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %a2 = onnx.Gemm %r2, %gate2 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %b2 = onnx.Swish %a2 : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %u2 = onnx.Gemm %r2, %up2 {transB = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<2x4xf32>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %h2 = onnx.Mul %b2, %u2 : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>, tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>
  %y2 = onnx.Gemm %h2, %down2 {transB = 1 : i64} : (tensor<?x2xf32, #dist.value<dims = ["places 2", 2]>>, tensor<4x2xf32>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %at2 = onnx.Concat %p2_0, %p2_1 {axis = 1 : i64} : (tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>, tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>
  %w2 = onnx.GatherND %w, %at2 : (tensor<?x2x1xf32, #dist.value<dims = [n, 2, 1]>>, tensor<?x2xi64, #dist.value<dims = ["places 2", 2]>>) -> tensor<?x1xf32, #dist.value<dims = ["places 2", 1]>>
  %z2 = onnx.Mul %y2, %w2 : (tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>, tensor<?x1xf32, #dist.value<dims = ["places 2", 1]>>) -> tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>
  %sum2 = onnx.ScatterND %sum1, %p2_1, %z2 {reduction = "add"} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<?x1xi64, #dist.value<dims = ["places 2", 1]>>, tensor<?x4xf32, #dist.value<dims = ["places 2", 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
  return %sum2 : tensor<?x4xf32, #dist.value<dims = [n, 4]>>
}
