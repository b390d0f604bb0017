// Shape arithmetic and weights without use go, guards stay.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[RELU:.*]] = onnx.Relu %arg0 : {{.*}} -> tensor<?x16xf32, #dist.value<dims = [seq, 16]>>
// CHECK-NEXT: return %[[RELU]]
func.func @main(%x: tensor<?x16xf32, #dist.value<dims = [seq, 16]>>) -> (!u) {
  %w = onnx.Weight {file = "w", length = 0 : i64, name = "w", offset = 0 : i64} : () -> tensor<16x16xf32>
  %n = onnx.Shape %x : (tensor<?x16xf32, #dist.value<dims = [seq, 16]>>) -> !u
  %y = onnx.Relu %x : (tensor<?x16xf32, #dist.value<dims = [seq, 16]>>) -> !u
  return %y : !u
}
