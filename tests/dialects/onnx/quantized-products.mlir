// Integers are summed; scales, minima and maxima are ops that can be split.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @integers(
// CHECK-NEXT: %[[MATMULINTEGER:.*]] = onnx.MatMulInteger %arg0, %arg1, %arg2, %arg3 : {{.*}} -> tensor<?x?x64xi32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[MATMULINTEGER]]
func.func @integers(%x: tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>, %w: tensor<96x64xi8>, %a: tensor<ui8>, %c: tensor<64xi8>) -> (!u) {
  %y = onnx.MatMulInteger %x, %w, %a, %c : (tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>, tensor<96x64xi8>, tensor<ui8>, tensor<64xi8>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<?x1xui8, #dist.value<dims = [s, 1]>>
// CHECK-NEXT: %[[MATMULINTEGER:.*]] = onnx.MatMulInteger %arg0, %arg1, %[[RESHAPE]] : {{.*}} -> tensor<?x64xi32, #dist.value<dims = [s, 64]>>
// CHECK-NEXT: return %[[MATMULINTEGER]]
func.func @rows(%x: tensor<?x96xui8, #dist.value<dims = [s, 96]>>, %w: tensor<96x64xi8>, %a: tensor<?xui8, #dist.value<dims = [s]>>) -> (!u) {
  %y = onnx.MatMulInteger %x, %w, %a : (tensor<?x96xui8, #dist.value<dims = [s, 96]>>, tensor<96x64xi8>, tensor<?xui8, #dist.value<dims = [s]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @dynamic(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[REDUCEMAX:.*]] = onnx.ReduceMax %arg0 {axes = array<i64: 0, 1, 2>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[MAX:.*]] = onnx.Max %[[REDUCEMAX]], %[[CONSTANT]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[REDUCEMIN:.*]] = onnx.ReduceMin %arg0 {axes = array<i64: 0, 1, 2>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[MIN:.*]] = onnx.Min %[[REDUCEMIN]], %[[CONSTANT]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<2.550000e+02> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[SUB:.*]] = onnx.Sub %[[MAX]], %[[MIN]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[DIV:.*]] = onnx.Div %[[SUB]], %[[CONSTANT2]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[EQUAL:.*]] = onnx.Equal %[[MAX]], %[[MIN]] : {{.*}} -> tensor<i1>
// CHECK-NEXT: %[[CONSTANT3:.*]] = onnx.Constant {value = dense<1.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Where %[[EQUAL]], %[[CONSTANT3]], %[[DIV]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[SUB2:.*]] = onnx.Sub %[[CONSTANT]], %[[MIN]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[DIV2:.*]] = onnx.Div %[[SUB2]], %[[WHERE]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[CLIP:.*]] = onnx.Clip %[[DIV2]], %[[CONSTANT]], %[[CONSTANT2]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[ROUND:.*]] = onnx.Round %[[CLIP]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %[[ROUND]] : {{.*}} -> tensor<ui8>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[WHERE]] : {{.*}} -> tensor<1x1x1xf32>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[CAST]] : {{.*}} -> tensor<1x1x1xui8>
// CHECK-NEXT: %[[QUANTIZELINEAR:.*]] = onnx.QuantizeLinear %arg0, %[[RESHAPE]], %[[RESHAPE2]] {axis = 0 : i64} : {{.*}} -> tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[QUANTIZELINEAR]], %[[WHERE]], %[[CAST]]
func.func @dynamic(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u, !u, !u) {
  %y, %s, %z = onnx.DynamicQuantizeLinear %x : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u, !u, !u)
  return %y, %s, %z : !u, !u, !u
}

// CHECK-LABEL: func.func @linear(
// CHECK-NEXT: %[[MATMULINTEGER:.*]] = onnx.MatMulInteger %arg0, %arg1, %arg3, %arg5 : {{.*}} -> tensor<?x64xi32, #dist.value<dims = [s, 64]>>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %arg2, %arg4 : {{.*}} -> tensor<64xf32>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %[[MATMULINTEGER]] : {{.*}} -> tensor<?x64xf32, #dist.value<dims = [s, 64]>>
// CHECK-NEXT: %[[MUL2:.*]] = onnx.Mul %[[CAST]], %[[MUL]] : {{.*}} -> tensor<?x64xf32, #dist.value<dims = [s, 64]>>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg6 : {{.*}} -> tensor<1x1xf32>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg7 : {{.*}} -> tensor<1x1xui8>
// CHECK-NEXT: %[[QUANTIZELINEAR:.*]] = onnx.QuantizeLinear %[[MUL2]], %[[RESHAPE]], %[[RESHAPE2]] {axis = 0 : i64} : {{.*}} -> tensor<?x64xui8, #dist.value<dims = [s, 64]>>
// CHECK-NEXT: return %[[QUANTIZELINEAR]]
func.func @linear(%x: tensor<?x96xui8, #dist.value<dims = [s, 96]>>, %w: tensor<96x64xi8>, %xs: tensor<f32>, %xz: tensor<ui8>, %ws: tensor<64xf32>, %wz: tensor<64xi8>, %ys: tensor<f32>, %yz: tensor<ui8>) -> (!u) {
  %y = onnx.QLinearMatMul %x, %xs, %xz, %w, %ws, %wz, %ys, %yz : (tensor<?x96xui8, #dist.value<dims = [s, 96]>>, tensor<f32>, tensor<ui8>, tensor<96x64xi8>, tensor<64xf32>, tensor<64xi8>, tensor<f32>, tensor<ui8>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @conv(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg3 : {{.*}} -> tensor<1x1x1x1xf32>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg4 : {{.*}} -> tensor<1x1x1x1xui8>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %arg0, %[[RESHAPE]], %[[RESHAPE2]] {axis = 0 : i64} : {{.*}} -> tensor<?x3x32x32xf32, #dist.value<dims = [b, 3, 32, 32]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %arg5 : {{.*}} -> tensor<16x1x1x1xf32>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %arg6 : {{.*}} -> tensor<16x1x1x1xi8>
// CHECK-NEXT: %[[DEQUANTIZELINEAR2:.*]] = onnx.DequantizeLinear %arg1, %[[RESHAPE3]], %[[RESHAPE4]] {axis = 0 : i64} : {{.*}} -> tensor<16x3x8x8xf32>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %arg3, %arg5 : {{.*}} -> tensor<16xf32>
// CHECK-NEXT: %[[DEQUANTIZELINEAR3:.*]] = onnx.DequantizeLinear %arg2, %[[MUL]] {axis = 0 : i64} : {{.*}} -> tensor<16xf32>
// CHECK-NEXT: %[[CONV:.*]] = onnx.Conv %[[DEQUANTIZELINEAR]], %[[DEQUANTIZELINEAR2]], %[[DEQUANTIZELINEAR3]] {dilations = array<i64: 1, 1>, kernel_shape = array<i64: 8, 8>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 8, 8>} : {{.*}} -> tensor<?x16x4x4xf32, #dist.value<dims = [b, 16, 4, 4]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %arg7 : {{.*}} -> tensor<1x1x1x1xf32>
// CHECK-NEXT: %[[RESHAPE6:.*]] = onnx.Reshape %arg8 : {{.*}} -> tensor<1x1x1x1xui8>
// CHECK-NEXT: %[[QUANTIZELINEAR:.*]] = onnx.QuantizeLinear %[[CONV]], %[[RESHAPE5]], %[[RESHAPE6]] {axis = 0 : i64} : {{.*}} -> tensor<?x16x4x4xui8, #dist.value<dims = [b, 16, 4, 4]>>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg0 : {{.*}} -> tensor<?x3x32x32xf32, #dist.value<dims = [b, 3, 32, 32]>>
// CHECK-NEXT: %[[CAST2:.*]] = onnx.Cast %arg4 : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[SUB:.*]] = onnx.Sub %[[CAST]], %[[CAST2]] : {{.*}} -> tensor<?x3x32x32xf32, #dist.value<dims = [b, 3, 32, 32]>>
// CHECK-NEXT: %[[CAST3:.*]] = onnx.Cast %arg1 : {{.*}} -> tensor<16x3x8x8xf32>
// CHECK-NEXT: %[[RESHAPE7:.*]] = onnx.Reshape %arg6 : {{.*}} -> tensor<16x1x1x1xi8>
// CHECK-NEXT: %[[CAST4:.*]] = onnx.Cast %[[RESHAPE7]] : {{.*}} -> tensor<16x1x1x1xf32>
// CHECK-NEXT: %[[SUB2:.*]] = onnx.Sub %[[CAST3]], %[[CAST4]] : {{.*}} -> tensor<16x3x8x8xf32>
// CHECK-NEXT: %[[CONV2:.*]] = onnx.Conv %[[SUB]], %[[SUB2]] {dilations = array<i64: 1, 1>, kernel_shape = array<i64: 8, 8>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 8, 8>} : {{.*}} -> tensor<?x16x4x4xf32, #dist.value<dims = [b, 16, 4, 4]>>
// CHECK-NEXT: %[[ROUND:.*]] = onnx.Round %[[CONV2]] : {{.*}} -> tensor<?x16x4x4xf32, #dist.value<dims = [b, 16, 4, 4]>>
// CHECK-NEXT: %[[CAST5:.*]] = onnx.Cast %[[ROUND]] : {{.*}} -> tensor<?x16x4x4xi32, #dist.value<dims = [b, 16, 4, 4]>>
// CHECK-NEXT: return %[[QUANTIZELINEAR]], %[[CAST5]]
func.func @conv(%x: tensor<?x3x32x32xui8, #dist.value<dims = [b, 3, 32, 32]>>, %w: tensor<16x3x8x8xi8>, %c: tensor<16xi32>, %xs: tensor<f32>, %xz: tensor<ui8>, %ws: tensor<16xf32>, %wz: tensor<16xi8>, %ys: tensor<f32>, %yz: tensor<ui8>) -> (!u, !u) {
  %y = onnx.QLinearConv %x, %xs, %xz, %w, %ws, %wz, %ys, %yz, %c {strides = array<i64: 8, 8>} : (tensor<?x3x32x32xui8, #dist.value<dims = [b, 3, 32, 32]>>, tensor<f32>, tensor<ui8>, tensor<16x3x8x8xi8>, tensor<16xf32>, tensor<16xi8>, tensor<f32>, tensor<ui8>, tensor<16xi32>) -> !u
  %i = onnx.ConvInteger %x, %w, %xz, %wz {strides = array<i64: 8, 8>} : (tensor<?x3x32x32xui8, #dist.value<dims = [b, 3, 32, 32]>>, tensor<16x3x8x8xi8>, tensor<ui8>, tensor<16xi8>) -> !u
  return %y, %i : !u, !u
}

// A zero point of eight bits of float that is 0 says nothing; what is multiplied
// by numbers of quantised weights is MatMul's.
// CHECK-LABEL: func.func @float8(
// CHECK: %[[X:.*]] = onnx.DequantizeLinear %arg0, %{{[^,]*}} {axis = 0 : i64} : {{.*}} -> tensor<?x96xf32
// CHECK: %[[W:.*]] = onnx.DequantizeLinear %{{.*}}, %{{[^,]*}} {axis = 0 : i64} : {{.*}} -> tensor<64x96xf32>
// CHECK-NOT: onnx.Gemm
// CHECK: %[[T:.*]] = onnx.Transpose %[[W]] {perm = array<i64: 1, 0>}
// CHECK-NEXT: %[[P:.*]] = onnx.MatMul %[[X]], %[[T]]
// CHECK: %[[HALF:.*]] = onnx.Mul %arg3, %{{.*}} : {{.*}} -> tensor<64xf32>
// CHECK-NEXT: %[[Y:.*]] = onnx.Add %[[P]], %[[HALF]]
// CHECK-NEXT: return %[[Y]]
func.func @float8(%x: tensor<?x96xf8E4M3FN, #dist.value<dims = [s, 96]>>, %s: tensor<f32>, %c: tensor<64xf32>, %b: tensor<64xf32>) -> (!u) {
  %z = onnx.Constant {value = dense<0.0> : tensor<f8E4M3FN>} : () -> tensor<f8E4M3FN>
  %zs = onnx.Weight {name = "z", file = "m.bin", offset = 0 : i64, length = 64 : i64, pattern = "zeros"} : () -> tensor<64xf8E4M3FN>
  %w = onnx.Weight {name = "w", file = "m.bin", offset = 64 : i64, length = 6144 : i64} : () -> tensor<64x96xf8E4M3FN>
  %0 = onnx.DequantizeLinear %x, %s, %z {axis = 1 : i64} : (tensor<?x96xf8E4M3FN, #dist.value<dims = [s, 96]>>, tensor<f32>, tensor<f8E4M3FN>) -> !u
  %1 = onnx.DequantizeLinear %w, %c, %zs {axis = 0 : i64} : (tensor<64x96xf8E4M3FN>, tensor<64xf32>, tensor<64xf8E4M3FN>) -> !u
  %y = onnx.Gemm %0, %1, %b {transB = 1 : i64, beta = 0.5 : f32} : (!u, !u, tensor<64xf32>) -> !u
  return %y : !u
}
