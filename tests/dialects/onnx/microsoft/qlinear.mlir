// Numbers, an op of ONNX, integers again; a product is one of integers.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!i = tensor<?x8xui8, #dist.value<dims = [b, 8]>>
!s = tensor<f32>
!z = tensor<ui8>

// An absent zero point is 0.
// CHECK-LABEL: func.func @add(
// CHECK: %[[A:.*]] = onnx.DequantizeLinear %arg0, %{{.*}}, %{{.*}} : {{.*}} -> tensor<?x8xf32
// CHECK: %[[B:.*]] = onnx.DequantizeLinear %arg1, %{{[^,]*}} : {{.*}} -> tensor<?x8xf32
// CHECK: %[[SUM:.*]] = onnx.Add %[[A]], %[[B]]
// CHECK: %[[ZERO:.*]] = onnx.Constant {value = dense<0> : tensor<{{(1x1x)?}}ui8>}
// CHECK: %[[Y:.*]] = onnx.QuantizeLinear %[[SUM]], %{{.*}} : {{.*}} -> tensor<?x8xui8, #dist.value<dims = [b, 8]>>
// CHECK: return %[[Y]]
func.func @add(%a: !i, %b: !i, %s: !s, %z: !z) -> !u {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.QLinearAdd %a, %s, %z, %b, %s, %none, %s : (!i, !s, !z, !i, !s, none, !s) -> !u
  return %y : !u
}

// Before opset 13 a row of a softmax is all that is behind its axis.
// CHECK-LABEL: func.func @old_softmax(
// CHECK: onnx.Reshape {{.*}} -> tensor<2x12xf32>
// CHECK-NEXT: onnx.Softmax {{.*}} {axis = 1 : i64}
// CHECK-NEXT: onnx.Reshape {{.*}} -> tensor<2x3x4xf32>
func.func @old_softmax(%x: tensor<2x3x4xui8>, %s: !s, %z: !z) -> !u {
  %y = onnx.microsoft.QLinearSoftmax %x, %s, %z, %s, %z {axis = 1 : i64, opset = 12 : i64} : (tensor<2x3x4xui8>, !s, !z, !s, !z) -> !u
  return %y : !u
}

// Without a scale of its own the result is numbers.
// CHECK-LABEL: func.func @gemm(
// CHECK: %[[SUM:.*]] = onnx.MatMulInteger %arg0, {{.*}} -> tensor<?x6xi32
// CHECK: %[[BIASED:.*]] = onnx.Add %[[SUM]], %arg4
// CHECK: %[[NUMBERS:.*]] = onnx.Cast %[[BIASED]] : {{.*}} -> tensor<?x6xf32
// CHECK: %[[Y:.*]] = onnx.Mul %[[NUMBERS]], %{{.*}}
// CHECK: return %[[Y]]
func.func @gemm(%a: !i, %b: tensor<6x8xui8>, %s: !s, %z: !z, %c: tensor<6xi32>) -> !u {
  %y = onnx.microsoft.QGemm %a, %s, %z, %b, %s, %z, %c {transB = 1 : i64, alpha = 0.5 : f32} : (!i, !s, !z, tensor<6x8xui8>, !s, !z, tensor<6xi32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @attention(
// CHECK: %[[SUM:.*]] = onnx.MatMulInteger %arg0, %arg1
// CHECK: onnx.Split {{.*}} -> (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x5x16xf32>)
// CHECK: onnx.Attention {{.*}} -> tensor<2x4x5x4xf32>
func.func @attention(%x: tensor<2x5x16xui8>, %w: tensor<16x48xi8>, %c: tensor<48xf32>, %s: !s) -> !u {
  %y = onnx.microsoft.QAttention %x, %w, %c, %s, %s {num_heads = 4 : i64} : (tensor<2x5x16xui8>, tensor<16x48xi8>, tensor<48xf32>, !s, !s) -> !u
  return %y : !u
}
