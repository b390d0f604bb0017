// Indices name leading dims; the others follow.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @mask(
// CHECK-NEXT: %[[GATHERND:.*]] = onnx.GatherND %arg0, %arg1 : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, t]>>
// CHECK-NEXT: return %[[GATHERND]]
func.func @mask(%x: tensor<?x?xi1, #dist.value<dims = [b, t]>>, %i: tensor<?x1x1x?x2xi64, #dist.value<dims = [b, 1, 1, t, 2]>>) -> (!u) {
  %y = onnx.GatherND %x, %i : (tensor<?x?xi1, #dist.value<dims = [b, t]>>, tensor<?x1x1x?x2xi64, #dist.value<dims = [b, 1, 1, t, 2]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @experts(
// CHECK-NEXT: %[[GATHERND:.*]] = onnx.GatherND %arg0, %arg1 : {{.*}} -> tensor<?x32x64xf32, #dist.value<dims = [n, 32, 64]>>
// CHECK-NEXT: return %[[GATHERND]]
func.func @experts(%w: tensor<8x32x64xf32>, %i: tensor<?x1xi64, #dist.value<dims = [n, 1]>>) -> (!u) {
  %y = onnx.GatherND %w, %i : (tensor<8x32x64xf32>, tensor<?x1xi64, #dist.value<dims = [n, 1]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @batched(
// CHECK-NEXT: %[[GATHERND:.*]] = onnx.GatherND %arg0, %arg1 {batch_dims = 1 : i64} : {{.*}} -> tensor<?x?x64xf32, #dist.value<dims = [b, k, 64]>>
// CHECK-NEXT: return %[[GATHERND]]
func.func @batched(%x: tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, %i: tensor<?x?x1xi64, #dist.value<dims = [b, k, 1]>>) -> (!u) {
  %y = onnx.GatherND %x, %i {batch_dims = 1 : i64} : (tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, tensor<?x?x1xi64, #dist.value<dims = [b, k, 1]>>) -> !u
  return %y : !u
}
