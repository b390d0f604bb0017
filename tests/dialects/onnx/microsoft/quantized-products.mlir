// Products of integers, scaled.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

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
// CHECK-NEXT: %[[MATMULINTEGER:.*]] = onnx.MatMulInteger %[[QUANTIZELINEAR]], %arg1, %[[CAST]], %arg3 : {{.*}} -> tensor<?x?x64xi32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %[[WHERE]], %arg2 : {{.*}} -> tensor<64xf32>
// CHECK-NEXT: %[[CAST2:.*]] = onnx.Cast %[[MATMULINTEGER]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: %[[MUL2:.*]] = onnx.Mul %[[CAST2]], %[[MUL]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[MUL2]], %arg4 : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[ADD]]
func.func @dynamic(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %w: tensor<96x64xi8>, %scale: tensor<64xf32>, %zero: tensor<64xi8>, %c: tensor<64xf32>) -> (!u) {
  %y = onnx.microsoft.DynamicQuantizeMatMul %x, %w, %scale, %zero, %c : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<96x64xi8>, tensor<64xf32>, tensor<64xi8>, tensor<64xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @to_float(
// CHECK-NEXT: %[[MATMULINTEGER:.*]] = onnx.MatMulInteger %arg0, %arg1, %arg4 : {{.*}} -> tensor<?x?x64xi32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %arg2, %arg3 : {{.*}} -> tensor<f32>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %[[MATMULINTEGER]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: %[[MUL2:.*]] = onnx.Mul %[[CAST]], %[[MUL]] : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
// CHECK-NEXT: return %[[MUL2]]
func.func @to_float(%x: tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>, %w: tensor<96x64xi8>, %xs: tensor<f32>, %ws: tensor<f32>, %xz: tensor<ui8>) -> (!u) {
  %y = onnx.microsoft.MatMulIntegerToFloat %x, %w, %xs, %ws, %xz : (tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>, tensor<96x64xi8>, tensor<f32>, tensor<f32>, tensor<ui8>) -> !u
  return %y : !u
}
