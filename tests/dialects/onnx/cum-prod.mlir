// The axis is an attribute after import.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: onnx.CumProd %arg0 {axis = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @main(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %axis = onnx.Constant {value = dense<-1> : tensor<i64>} : () -> tensor<i64>
  %y = onnx.CumProd %x, %axis : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<i64>) -> !u
  return %y : !u
}
