// A symbol that is broadcast with a constant must equal it, not be 1.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @constant(
// CHECK-SAME: %arg0: tensor<16x96xf32>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %arg1 : {{.*}} -> tensor<16x96xf32>
// CHECK-NEXT: return %[[ADD]]
func.func @constant(%x: tensor<?x96xf32, #dist.value<dims = [seq, 96]>>, %w: tensor<16x96xf32>) -> (!u) {
  %y = onnx.Add %x, %w : (tensor<?x96xf32, #dist.value<dims = [seq, 96]>>, tensor<16x96xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @one_is_free(
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %arg1 : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [seq, 96]>>
// CHECK-NEXT: return %[[ADD]]
func.func @one_is_free(%x: tensor<?x96xf32, #dist.value<dims = [seq, 96]>>, %w: tensor<1x96xf32>) -> (!u) {
  %y = onnx.Add %x, %w : (tensor<?x96xf32, #dist.value<dims = [seq, 96]>>, tensor<1x96xf32>) -> !u
  return %y : !u
}
