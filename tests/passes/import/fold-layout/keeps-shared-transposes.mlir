// A Transpose with another use stays, and is not made twice.
// RUN: shard-opt %s --shardc-infer-shapes --shardc-fold-layout | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x6x16xf32, #dist.value<dims = [b * s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 1, 0, 2>} : {{.*}} -> tensor<6x?x16xf32, #dist.value<dims = [6, b * s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[TRANSPOSE]] : {{.*}} -> tensor<6x?xf32, #dist.value<dims = [6, b * s * 16]>>
// CHECK-NEXT: return %[[TRANSPOSE]], %[[RESHAPE2]]
func.func @main(%x: tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>) -> (!u, !u) {
  %t = onnx.Constant {value = dense<[-1,6,16]> : tensor<3xi64>} : () -> tensor<3xi64>
  %a = onnx.Reshape %x, %t : (tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>, tensor<3xi64>) -> !u
  %b = onnx.Transpose %a {perm = array<i64: 1, 0, 2>} : (!u) -> !u
  %u = onnx.Constant {value = dense<[6,-1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %c = onnx.Reshape %b, %u : (!u, tensor<2xi64>) -> !u
  return %b, %c : !u, !u
}
