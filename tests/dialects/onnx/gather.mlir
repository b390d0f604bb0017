// Rows of a table, elements of a known shape.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @rows(
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg0, %arg1 : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[GATHER]]
func.func @rows(%w: tensor<1024x96xf32>, %ids: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %y = onnx.Gather %w, %ids : (tensor<1024x96xf32>, tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @axis(
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg0, %arg1 {axis = 1 : i64} : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, k, 96]>>
// CHECK-NEXT: return %[[GATHER]]
func.func @axis(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %i: tensor<?xi64, #dist.value<dims = [k]>>) -> (!u) {
  %y = onnx.Gather %x, %i {axis = -2 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?xi64, #dist.value<dims = [k]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[96, b]>} : () -> tensor<2xi64>
// CHECK-NEXT: return %[[SYMBOLS]]
func.func @known(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %s = onnx.Shape %x : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  %i = onnx.Constant {value = dense<[-1,0]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Gather %s, %i : (!u, tensor<2xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @elements(
// CHECK-NEXT: %[[GATHERELEMENTS:.*]] = onnx.GatherElements %arg0, %arg1 {axis = 1 : i64} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, k]>>
// CHECK-NEXT: return %[[GATHERELEMENTS]]
func.func @elements(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %i: tensor<?x?xi64, #dist.value<dims = [b, k]>>) -> (!u) {
  %y = onnx.GatherElements %x, %i {axis = -1 : i64} : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?x?xi64, #dist.value<dims = [b, k]>>) -> !u
  return %y : !u
}
