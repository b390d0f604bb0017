// Results as the data.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @elements(
// CHECK-NEXT: %[[SCATTERELEMENTS:.*]] = onnx.ScatterElements %arg0, %arg1, %arg2 {axis = 1 : i64} : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [b, 8]>>
// CHECK-NEXT: return %[[SCATTERELEMENTS]]
func.func @elements(%x: tensor<?x8xf32, #dist.value<dims = [b, 8]>>, %i: tensor<?x2xi64, #dist.value<dims = [b, 2]>>, %u: tensor<?x2xf32, #dist.value<dims = [b, 2]>>) -> (!u) {
  %y = onnx.ScatterElements %x, %i, %u {axis = -1 : i64} : (tensor<?x8xf32, #dist.value<dims = [b, 8]>>, tensor<?x2xi64, #dist.value<dims = [b, 2]>>, tensor<?x2xf32, #dist.value<dims = [b, 2]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @nd(
// CHECK-NEXT: %[[SCATTERND:.*]] = onnx.ScatterND %arg0, %arg1, %arg2 {reduction = "add"} : {{.*}} -> tensor<?x64xf32, #dist.value<dims = [s, 64]>>
// CHECK-NEXT: return %[[SCATTERND]]
func.func @nd(%x: tensor<?x64xf32, #dist.value<dims = [s, 64]>>, %i: tensor<?x1xi64, #dist.value<dims = [k, 1]>>, %u: tensor<?x64xf32, #dist.value<dims = [k, 64]>>) -> (!u) {
  %y = onnx.ScatterND %x, %i, %u {reduction = "add"} : (tensor<?x64xf32, #dist.value<dims = [s, 64]>>, tensor<?x1xi64, #dist.value<dims = [k, 1]>>, tensor<?x64xf32, #dist.value<dims = [k, 64]>>) -> !u
  return %y : !u
}
