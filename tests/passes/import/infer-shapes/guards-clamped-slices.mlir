// ONNX clamps an end to the dim; that it does not is a guard.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @symbol_of_constant(
// CHECK-NEXT: onnx.Guard #dist.dims<[seq]> "at_most" #dist.dims<[128]> "Slice: end seq is clamped to 128"
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg1 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<1x?xi64, #dist.value<dims = [1, seq]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @symbol_of_constant(%ids: tensor<?x?xi64, #dist.value<dims = [batch, seq]>>, %table: tensor<1x128xi64>) -> (!u) {
  %n = onnx.Shape %ids {start = 1 : i64, end = 2 : i64} : (tensor<?x?xi64, #dist.value<dims = [batch, seq]>>) -> !u
  %zero = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %one = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %table, %zero, %n, %one, %one : (tensor<1x128xi64>, tensor<1xi64>, !u, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @last_row(
// CHECK-NEXT: onnx.Guard #dist.dims<[seq]> "at_least" #dist.dims<[1]> "Slice: start -1 of a dim of seq"
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, seq - 1, 0]>, steps = array<i64: 1, 1, 1>} : {{.*}} -> tensor<?x1x96xf32, #dist.value<dims = [batch, 1, 96]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @last_row(%x: tensor<?x?x96xf32, #dist.value<dims = [batch, seq, 96]>>) -> (!u) {
  %start = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %axis = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %start, %end, %axis : (tensor<?x?x96xf32, #dist.value<dims = [batch, seq, 96]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @constant_of_symbol(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [min(8, seq), 96]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @constant_of_symbol(%x: tensor<?x96xf32, #dist.value<dims = [seq, 96]>>) -> (!u) {
  %start = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[8]> : tensor<1xi64>} : () -> tensor<1xi64>
  %axis = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %start, %end, %axis : (tensor<?x96xf32, #dist.value<dims = [seq, 96]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @provable(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[past, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [seq, 96]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @provable(%x: tensor<?x96xf32, #dist.value<dims = [past + seq, 96]>>, %p: tensor<?x96xf32, #dist.value<dims = [past, 96]>>) -> (!u) {
  %n = onnx.Shape %p {start = 0 : i64, end = 1 : i64} : (tensor<?x96xf32, #dist.value<dims = [past, 96]>>) -> !u
  %end = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %axis = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %n, %end, %axis : (tensor<?x96xf32, #dist.value<dims = [past + seq, 96]>>, !u, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}
