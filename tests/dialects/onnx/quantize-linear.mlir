// Scales get the rank of the data: one for all, for each index, or for each block.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @for_all(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<1x1x1xf32>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<1x1x1xui8>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %arg0, %[[RESHAPE]], %[[RESHAPE2]] {axis = 0 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[DEQUANTIZELINEAR]]
func.func @for_all(%x: tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>, %s: tensor<f32>, %z: tensor<ui8>) -> (!u) {
  %y = onnx.DequantizeLinear %x, %s, %z {axis = 7 : i64} : (tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>, tensor<f32>, tensor<ui8>) -> !u
  return %y : !u
}

// One for all, whatever blocks there would be.
// CHECK-LABEL: func.func @for_all_blocks(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<1x1xf32>
// CHECK-NEXT: onnx.DequantizeLinear %arg0, %[[RESHAPE]] {axis = 0 : i64} : {{.*}} -> tensor<96x64xf32>
func.func @for_all_blocks(%x: tensor<96x64xi8>, %s: tensor<f32>) -> (!u) {
  %y = onnx.DequantizeLinear %x, %s {axis = 0 : i64, block_size = 32 : i64} : (tensor<96x64xi8>, tensor<f32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @for_each_column(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<1x64xf32>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<1x64xi8>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %arg0, %[[RESHAPE]], %[[RESHAPE2]] : {{.*}} -> tensor<96x64xf32>
// CHECK-NEXT: return %[[DEQUANTIZELINEAR]]
func.func @for_each_column(%x: tensor<96x64xi8>, %s: tensor<64xf32>, %z: tensor<64xi8>) -> (!u) {
  %y = onnx.DequantizeLinear %x, %s, %z {axis = -1 : i64} : (tensor<96x64xi8>, tensor<64xf32>, tensor<64xi8>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @for_each_block(
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %arg0, %arg1 {axis = 0 : i64, block_size = 32 : i64} : {{.*}} -> tensor<96x64xf16>
// CHECK-NEXT: return %[[DEQUANTIZELINEAR]]
func.func @for_each_block(%x: tensor<96x64xi8>, %s: tensor<3x64xf16>) -> (!u) {
  %y = onnx.DequantizeLinear %x, %s {axis = 0 : i64, block_size = 32 : i64} : (tensor<96x64xi8>, tensor<3x64xf16>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @last_block_is_shorter(
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg1 : {{.*}} -> tensor<3x64xf32>
// CHECK-NEXT: %[[DEQUANTIZELINEAR:.*]] = onnx.DequantizeLinear %arg0, %[[CAST]] {axis = 0 : i64, block_size = 32 : i64} : {{.*}} -> tensor<70x64xf32>
// CHECK-NEXT: return %[[DEQUANTIZELINEAR]]
func.func @last_block_is_shorter(%x: tensor<70x64xi8>, %s: tensor<3x64xf16>) -> (!u) {
  %y = onnx.DequantizeLinear %x, %s {axis = 0 : i64, block_size = 32 : i64, output_dtype = 1 : i64} : (tensor<70x64xi8>, tensor<3x64xf16>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @quantize(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<1x1x1xf32>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<1x1x1xi8>
// CHECK-NEXT: %[[QUANTIZELINEAR:.*]] = onnx.QuantizeLinear %arg0, %[[RESHAPE]], %[[RESHAPE2]] {axis = 0 : i64} : {{.*}} -> tensor<?x?x96xi8, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<1x1x1xf32>
// CHECK-NEXT: %[[QUANTIZELINEAR2:.*]] = onnx.QuantizeLinear %arg0, %[[RESHAPE3]] {axis = 0 : i64} : {{.*}} -> tensor<?x?x96xui8, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<1x1x1xf32>
// CHECK-NEXT: %[[QUANTIZELINEAR3:.*]] = onnx.QuantizeLinear %arg0, %[[RESHAPE4]] {axis = 0 : i64} : {{.*}} -> tensor<?x?x96xi16, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[QUANTIZELINEAR]], %[[QUANTIZELINEAR2]], %[[QUANTIZELINEAR3]]
func.func @quantize(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %s: tensor<f32>, %z: tensor<i8>) -> (!u, !u, !u) {
  %y = onnx.QuantizeLinear %x, %s, %z : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<f32>, tensor<i8>) -> !u
  %a = onnx.QuantizeLinear %x, %s : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<f32>) -> !u
  %c = onnx.QuantizeLinear %x, %s {output_dtype = 5 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<f32>) -> !u
  return %y, %a, %c : !u, !u, !u
}
