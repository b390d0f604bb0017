// Integers keep their type; BitCast has the type that it names.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x3xi32, #dist.value<dims = [n, 3]>>

// CHECK-LABEL: func.func @bits(
// CHECK-NEXT: %[[A:.*]] = onnx.BitwiseAnd %arg0, %arg1 : {{.*}} -> tensor<?x3xi32, #dist.value<dims = [n, 3]>>
// CHECK-NEXT: %[[S:.*]] = onnx.BitShift %[[A]], %arg1 {direction = "RIGHT"} : {{.*}} -> tensor<?x3xi32, #dist.value<dims = [n, 3]>>
// CHECK-NEXT: onnx.BitCast %[[S]] : {{.*}} -> tensor<?x3xf32, #dist.value<dims = [n, 3]>>
func.func @bits(%x: !x, %y: tensor<3xi32>) -> (!u) {
  %a = onnx.BitwiseAnd %x, %y : (!x, tensor<3xi32>) -> !u
  %s = onnx.BitShift %a, %y {direction = "RIGHT"} : (!u, tensor<3xi32>) -> !u
  %c = onnx.BitCast %s {to = 1 : i64} : (!u) -> !u
  return %c : !u
}
