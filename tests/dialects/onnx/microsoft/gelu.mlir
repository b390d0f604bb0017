// GELUs by their own name, with a bias, or with another approximation.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @erf(
// CHECK-NEXT: %[[GELU:.*]] = onnx.Gelu %arg0 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[GELU]], %arg1 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[GELU2:.*]] = onnx.Gelu %[[ADD]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[GELU2]]
func.func @erf(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %c: tensor<96xf32>) -> (!u) {
  %a = onnx.microsoft.Gelu %x : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  %y = onnx.microsoft.BiasGelu %a, %c : (!u, tensor<96xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @fast(
// CHECK-NEXT: %[[GELU:.*]] = onnx.Gelu %arg0 {approximate = "tanh"} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[GELU]], %arg1 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[GELU2:.*]] = onnx.Gelu %[[ADD]] {approximate = "tanh"} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[GELU2]]
func.func @fast(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %c: tensor<96xf32>) -> (!u) {
  %a = onnx.microsoft.FastGelu %x : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  %y = onnx.microsoft.FastGelu %a, %c : (!u, tensor<96xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @quick(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1.702150e+00> : tensor<f16>} : () -> tensor<f16>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %arg0, %[[CONSTANT]] : {{.*}} -> tensor<?x?x96xf16, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[SIGMOID:.*]] = onnx.Sigmoid %[[MUL]] : {{.*}} -> tensor<?x?x96xf16, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: %[[MUL2:.*]] = onnx.Mul %arg0, %[[SIGMOID]] : {{.*}} -> tensor<?x?x96xf16, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[MUL2]]
func.func @quick(%x: tensor<?x?x96xf16, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %y = onnx.microsoft.QuickGelu %x : (tensor<?x?x96xf16, #dist.value<dims = [b, s, 96]>>) -> !u
  return %y : !u
}
