// Bits of integers, broadcast like arithmetic.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @bitwisenot(
// CHECK-NEXT: onnx.BitwiseNot %arg0 : (tensor<?x4xi32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xi32, #dist.value<dims = [n, 4]>>
func.func @bitwisenot(%x: tensor<?x4xi32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.BitwiseNot %x : (tensor<?x4xi32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @bitwiseor(
// CHECK-NEXT: onnx.BitwiseOr %arg0, %arg1 : (tensor<?x4xi32, #dist.value<dims = [n, 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #dist.value<dims = [n, 4]>>
func.func @bitwiseor(%x: tensor<?x4xi32, #dist.value<dims = [n, 4]>>, %row: tensor<4xi32>) -> !u {
  %y = onnx.BitwiseOr %x, %row : (tensor<?x4xi32, #dist.value<dims = [n, 4]>>, tensor<4xi32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @bitwisexor(
// CHECK-NEXT: onnx.BitwiseXor %arg0, %arg1 : (tensor<?x4xi32, #dist.value<dims = [n, 4]>>, tensor<4xi32>) -> tensor<?x4xi32, #dist.value<dims = [n, 4]>>
func.func @bitwisexor(%x: tensor<?x4xi32, #dist.value<dims = [n, 4]>>, %row: tensor<4xi32>) -> !u {
  %y = onnx.BitwiseXor %x, %row : (tensor<?x4xi32, #dist.value<dims = [n, 4]>>, tensor<4xi32>) -> !u
  return %y : !u
}
