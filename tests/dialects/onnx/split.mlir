// Sizes are the results' dims.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @equal(
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %arg0 {axis = 1 : i64} : {{.*}} -> (tensor<?x96xf32, #dist.value<dims = [b, 96]>>, tensor<?x96xf32, #dist.value<dims = [b, 96]>>, tensor<?x96xf32, #dist.value<dims = [b, 96]>>)
// CHECK-NEXT: return %[[SPLIT]]#0, %[[SPLIT]]#1, %[[SPLIT]]#2
func.func @equal(%x: tensor<?x288xf32, #dist.value<dims = [b, 288]>>) -> (!u, !u, !u) {
  %q, %k, %v = onnx.Split %x {axis = -1 : i64, num_outputs = 3 : i64} : (tensor<?x288xf32, #dist.value<dims = [b, 288]>>) -> (!u, !u, !u)
  return %q, %k, %v : !u, !u, !u
}

// CHECK-LABEL: func.func @rest(
// CHECK-NEXT: %[[SPLIT:.*]]:2 = onnx.Split %arg0 : {{.*}} -> (tensor<4xf32>, tensor<3xf32>)
// CHECK-NEXT: return %[[SPLIT]]#0, %[[SPLIT]]#1
func.func @rest(%x: tensor<7xf32>) -> (!u, !u) {
  %a, %b = onnx.Split %x {axis = 0 : i64, num_outputs = 2 : i64} : (tensor<7xf32>) -> (!u, !u)
  return %a, %b : !u, !u
}

// CHECK-LABEL: func.func @sizes(
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %arg0 {axis = 1 : i64} : {{.*}} -> (tensor<?x768xf32, #dist.value<dims = [b, 768]>>, tensor<?x128xf32, #dist.value<dims = [b, 128]>>, tensor<?x128xf32, #dist.value<dims = [b, 128]>>)
// CHECK-NEXT: return %[[SPLIT]]#0, %[[SPLIT]]#1, %[[SPLIT]]#2
func.func @sizes(%x: tensor<?x1024xf32, #dist.value<dims = [b, 1024]>>) -> (!u, !u, !u) {
  %n = onnx.Constant {value = dense<[768,128,128]> : tensor<3xi64>} : () -> tensor<3xi64>
  %q, %k, %v = onnx.Split %x, %n {axis = 1 : i64} : (tensor<?x1024xf32, #dist.value<dims = [b, 1024]>>, tensor<3xi64>) -> (!u, !u, !u)
  return %q, %k, %v : !u, !u, !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[b]>} : () -> tensor<1xi64>
// CHECK-NEXT: %[[SYMBOLS2:.*]] = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<1xi64>
// CHECK-NEXT: return %[[SYMBOLS]], %[[SYMBOLS2]]
func.func @known(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u, !u) {
  %s = onnx.Shape %x : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  %b, %n = onnx.Split %s {axis = 0 : i64, num_outputs = 2 : i64} : (!u) -> (!u, !u)
  return %b, %n : !u, !u
}
