// Every second element is a row of pairs, which can be split; others stay as they are.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @pairs(
// CHECK: %[[PAIRS:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x64x2xf32, #dist.value<dims = [s, 64, 2]>>
// CHECK: %[[ODD:.*]] = onnx.Slice %[[PAIRS]] {bounds = #dist.dims<[0, 0, 1]>, steps = array<i64: 1, 1, 1>} : {{.*}} -> tensor<?x64x1xf32, #dist.value<dims = [s, 64, 1]>>
// CHECK: %[[ROW:.*]] = onnx.Reshape %[[ODD]] : {{.*}} -> tensor<?x64xf32, #dist.value<dims = [s, 64]>>
// CHECK: return %[[ROW]]
func.func @pairs(%x: tensor<?x128xf32, #dist.value<dims = [s, 128]>>) -> (!u) {
  %start = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<9223372036854775807> : tensor<1xi64>} : () -> tensor<1xi64>
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %start, %end, %start, %two : (tensor<?x128xf32, #dist.value<dims = [s, 128]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @not_all(
// CHECK: onnx.Slice %arg0 {bounds = #dist.dims<[0, 1]>, steps = array<i64: 1, 2>} : {{.*}} -> tensor<?x50xf32, #dist.value<dims = [s, 50]>>
func.func @not_all(%x: tensor<?x128xf32, #dist.value<dims = [s, 128]>>) -> (!u) {
  %start = onnx.Constant {value = dense<1> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<101> : tensor<1xi64>} : () -> tensor<1xi64>
  %two = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %start, %end, %start, %two : (tensor<?x128xf32, #dist.value<dims = [s, 128]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}
