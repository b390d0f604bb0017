// A product with the weights of a dim; the nearest elements are gathered.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @linear(
// CHECK: %[[W:.*]] = onnx.Constant {value = dense<{{\[\[}}1.000000e+00, 7.500000e-01, 2.500000e-01, 0.000000e+00], [0.000000e+00, 2.500000e-01, 7.500000e-01, 1.000000e+00]]> : tensor<2x4xf32>}
// CHECK: onnx.MatMul %{{.*}}, %[[W]] : {{.*}} -> tensor<1x1x3x4xf32>
func.func @linear(%x: tensor<1x1x3x2xf32>) -> (!u) {
  %n = onnx.None : () -> none
  %s = onnx.Constant {value = dense<[1.0, 1.0, 1.0, 2.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %y = onnx.Resize %x, %n, %s {mode = "linear"} : (tensor<1x1x3x2xf32>, none, tensor<4xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @nearest(
// CHECK: %[[I:.*]] = onnx.Constant {value = dense<[0, 0, 1, 1]> : tensor<4xi64>}
// CHECK: onnx.Gather %arg0, %[[I]] {axis = 1 : i64} : {{.*}} -> tensor<3x4xi8>
func.func @nearest(%x: tensor<3x2xi8>) -> (!u) {
  %n = onnx.None : () -> none
  %s = onnx.Constant {value = dense<[3, 4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Resize %x, %n, %n, %s : (tensor<3x2xi8>, none, none, tensor<2xi64>) -> !u
  return %y : !u
}

// A symbolic dim is kept, whether scales or sizes say so.
// CHECK-LABEL: func.func @batch(
// CHECK: onnx.MatMul {{.*}} -> tensor<?x1x3x4xf32, #dist.value<dims = [batch, 1, 3, 4]>>
// CHECK: onnx.Gather {{.*}} -> tensor<?x1x3x4xf32, #dist.value<dims = [batch, 1, 3, 4]>>
func.func @batch(%x: tensor<?x1x3x2xf32, #dist.value<dims = [batch, 1, 3, 2]>>) -> (!u, !u) {
  %n = onnx.None : () -> none
  %s = onnx.Constant {value = dense<[1.0, 1.0, 1.0, 2.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  %y = onnx.Resize %x, %n, %s {mode = "linear"} : (tensor<?x1x3x2xf32, #dist.value<dims = [batch, 1, 3, 2]>>, none, tensor<4xf32>) -> !u
  %b = onnx.Shape %x {end = 2 : i64} : (tensor<?x1x3x2xf32, #dist.value<dims = [batch, 1, 3, 2]>>) -> !u
  %i = onnx.Constant {value = dense<[3, 4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %c = onnx.Concat %b, %i {axis = 0 : i64} : (!u, tensor<2xi64>) -> !u
  %z = onnx.Resize %x, %n, %n, %c : (tensor<?x1x3x2xf32, #dist.value<dims = [batch, 1, 3, 2]>>, none, none, !u) -> !u
  return %y, %z : !u, !u
}
