// TorchScript's index_copy replaces one size of a list by ScatterElements.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: onnx.Expand %{{.*}} -> tensor<2x3x8xf32>
func.func @main(%x: tensor<1x3x1xf32>) -> tensor<*xf32> {
  %sizes = onnx.Constant {value = dense<[2, 5, 8]> : tensor<3xi64>} : () -> tensor<3xi64>
  %at = onnx.Constant {value = dense<-2> : tensor<1xi64>} : () -> tensor<1xi64>
  %size = onnx.Constant {value = dense<3> : tensor<1xi64>} : () -> tensor<1xi64>
  %replaced = onnx.ScatterElements %sizes, %at, %size {axis = 0 : i64} : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<*xi64>
  %y = onnx.Expand %x, %replaced : (tensor<1x3x1xf32>, tensor<*xi64>) -> tensor<*xf32>
  return %y : tensor<*xf32>
}
