// Splitting heads before a Transpose is what it is.
// RUN: shard-opt %s --shardc-infer-shapes --shardc-fold-layout | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[TRANSPOSE]] : {{.*}} -> tensor<?x16xf32, #dist.value<dims = [b * s * 6, 16]>>
// CHECK-NEXT: return %[[RESHAPE2]]
func.func @main(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[0,0,6,16]> : tensor<4xi64>} : () -> tensor<4xi64>
  %a = onnx.Reshape %x, %t : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<4xi64>) -> !u
  %b = onnx.Transpose %a {perm = array<i64: 0, 2, 1, 3>} : (!u) -> !u
  %u = onnx.Constant {value = dense<[-1,16]> : tensor<2xi64>} : () -> tensor<2xi64>
  %c = onnx.Reshape %b, %u : (!u, tensor<2xi64>) -> !u
  return %c : !u
}
