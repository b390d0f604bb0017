// k is the results' dim.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %values, %indices = onnx.TopK %arg0 {axis = 1 : i64} : {{.*}} -> (tensor<?x2xf32, #dist.value<dims = [n, 2]>>, tensor<?x2xi64, #dist.value<dims = [n, 2]>>)
// CHECK-NEXT: return %values, %indices
func.func @main(%x: tensor<?x8xf32, #dist.value<dims = [n, 8]>>) -> (!u, !u) {
  %k = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %v, %i = onnx.TopK %x, %k : (tensor<?x8xf32, #dist.value<dims = [n, 8]>>, tensor<1xi64>) -> (!u, !u)
  return %v, %i : !u, !u
}
