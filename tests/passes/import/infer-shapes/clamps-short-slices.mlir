// A dim that may be shorter than a constant bound: the size says so, no guard.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @last_rows(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[seq - min(5, seq), 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [min(5, seq), 8]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @last_rows(%x: tensor<?x8xf32, #dist.value<dims = [seq, 8]>>) -> (!u) {
  %start = onnx.Constant {value = dense<[-5]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %axis = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %start, %end, %axis : (tensor<?x8xf32, #dist.value<dims = [seq, 8]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// Long enough for certain: sizes stay as simple as they are.
// CHECK-LABEL: func.func @long_enough(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[seq, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<3x8xf32>
// CHECK-NEXT: return %[[SLICE]]
func.func @long_enough(%x: tensor<?x8xf32, #dist.value<dims = [seq + 3, 8]>>) -> (!u) {
  %start = onnx.Constant {value = dense<[-3]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %axis = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %start, %end, %axis : (tensor<?x8xf32, #dist.value<dims = [seq + 3, 8]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}
