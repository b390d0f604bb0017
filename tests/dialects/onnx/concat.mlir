// Sizes add up along the axis and agree elsewhere.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @cache(
// CHECK-NEXT: %[[CONCAT:.*]] = onnx.Concat %arg0, %arg1 {axis = 2 : i64} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + seq, 16]>>
// CHECK-NEXT: return %[[CONCAT]]
func.func @cache(%p: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %x: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, seq, 16]>>) -> (!u) {
  %y = onnx.Concat %p, %x {axis = -2 : i64} : (tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, seq, 16]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @single(
// CHECK-NEXT: return %arg0
func.func @single(%x: tensor<?x4xf32, #dist.value<dims = [b, 4]>>) -> (!u) {
  %y = onnx.Concat %x {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [b, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @guarded(
// CHECK-NEXT: %[[CONCAT:.*]] = onnx.Concat %arg0, %arg1 {axis = 1 : i64} : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [b, 8]>>
// CHECK-NEXT: return %[[CONCAT]]
func.func @guarded(%x: tensor<?x4xf32, #dist.value<dims = [b, 4]>>, %z: tensor<?x4xf32, #dist.value<dims = [c, 4]>>) -> (!u) {
  %y = onnx.Concat %x, %z {axis = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = [b, 4]>>, tensor<?x4xf32, #dist.value<dims = [c, 4]>>) -> !u
  return %y : !u
}
