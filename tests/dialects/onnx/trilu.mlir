// The diagonal is a bound.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @default(
// CHECK-NEXT: %[[TRILU:.*]] = onnx.Trilu %arg0 {bounds = #dist.dims<[0]>} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [s, s]>>
// CHECK-NEXT: return %[[TRILU]]
func.func @default(%x: tensor<?x?xf32, #dist.value<dims = [s, s]>>) -> (!u) {
  %y = onnx.Trilu %x : (tensor<?x?xf32, #dist.value<dims = [s, s]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[TRILU:.*]] = onnx.Trilu %arg0 {bounds = #dist.dims<[past]>, upper = 0 : i64} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [s, t]>>
// CHECK-NEXT: return %[[TRILU]]
func.func @known(%x: tensor<?x?xf32, #dist.value<dims = [s, t]>>, %p: tensor<?xf32, #dist.value<dims = [past]>>) -> (!u) {
  %k = onnx.Size %p : (tensor<?xf32, #dist.value<dims = [past]>>) -> !u
  %y = onnx.Trilu %x, %k {upper = 0 : i64} : (tensor<?x?xf32, #dist.value<dims = [s, t]>>, !u) -> !u
  return %y : !u
}
