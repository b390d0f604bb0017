// What data depends on stays, as onnx.Symbols or onnx.Constant.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @symbolic(
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[past]>} : () -> tensor<1xi64>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %[[SYMBOLS]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [seq]>>
// CHECK-NEXT: return %[[ADD]]
func.func @symbolic(%x: tensor<?xi64, #dist.value<dims = [seq]>>, %cache: tensor<?xf32, #dist.value<dims = [past]>>) -> (!u) {
  %n = onnx.Shape %cache : (tensor<?xf32, #dist.value<dims = [past]>>) -> !u
  %y = onnx.Add %x, %n : (tensor<?xi64, #dist.value<dims = [seq]>>, !u) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @constant(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1.600000e+01> : tensor<1xf32>} : () -> tensor<1xf32>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %arg0, %[[CONSTANT]] : {{.*}} -> tensor<?x16xf32, #dist.value<dims = [seq, 16]>>
// CHECK-NEXT: return %[[MUL]]
func.func @constant(%x: tensor<?x16xf32, #dist.value<dims = [seq, 16]>>) -> (!u) {
  %n = onnx.Shape %x {start = 1 : i64} : (tensor<?x16xf32, #dist.value<dims = [seq, 16]>>) -> !u
  %f = onnx.Cast %n {to = 1 : i64} : (!u) -> !u
  %y = onnx.Mul %x, %f : (tensor<?x16xf32, #dist.value<dims = [seq, 16]>>, !u) -> !u
  return %y : !u
}
