// The type says it; to the same type is nothing.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @types(
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg0 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CAST2:.*]] = onnx.Cast %[[CAST]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CAST3:.*]] = onnx.Cast %[[CAST2]] : {{.*}} -> tensor<?x?xbf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CAST4:.*]] = onnx.Cast %[[CAST3]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CAST5:.*]] = onnx.Cast %[[CAST4]] : {{.*}} -> tensor<?x?xui8, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[CAST5]]
func.func @types(%x: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %a = onnx.Cast %x {to = 1 : i64} : (tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> !u
  %b = onnx.Cast %a {to = 10 : i64} : (!u) -> !u
  %c = onnx.Cast %b {to = 16 : i64} : (!u) -> !u
  %d = onnx.Cast %c {to = 9 : i64} : (!u) -> !u
  %e = onnx.Cast %d {to = 2 : i64} : (!u) -> !u
  return %e : !u
}

// CHECK-LABEL: func.func @same(
// CHECK-NEXT: return %arg0
func.func @same(%x: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %a = onnx.Cast %x {to = 7 : i64} : (tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> !u
  return %a : !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<[2, -2]> : tensor<2xi64>} : () -> tensor<2xi64>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi1>
// CHECK-NEXT: return %[[CONSTANT]], %[[CONSTANT2]]
func.func @known(%x: tensor<4x0xf32>) -> (!u, !u) {
  %v = onnx.Constant {value = dense<[2.7,-2.7]> : tensor<2xf32>} : () -> tensor<2xf32>
  %a = onnx.Cast %v {to = 7 : i64} : (tensor<2xf32>) -> !u
  %s = onnx.Shape %x : (tensor<4x0xf32>) -> !u
  %b = onnx.Cast %s {to = 9 : i64} : (!u) -> !u
  return %a, %b : !u, !u
}
