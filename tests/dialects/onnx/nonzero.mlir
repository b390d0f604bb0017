// How many indices there are, the data say: read from their count.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @nonzero(
// CHECK: %[[COUNT:.*]] = onnx.ReduceSum
// CHECK-NEXT: onnx.ReadSizes %[[COUNT]] {sizes = #dist.dims<["NonZero:0"]>} : tensor<i64>
// CHECK-NEXT: onnx.NonZero %arg0 : (tensor<?x4xi1, #dist.value<dims = [n, 4]>>) -> tensor<2x?xi64, #dist.value<dims = [2, "NonZero:0"]>>
func.func @nonzero(%x: tensor<?x4xi1, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.NonZero %x : (tensor<?x4xi1, #dist.value<dims = [n, 4]>>) -> !u loc("NonZero")
  return %y : !u
}

// CHECK-LABEL: func.func @compress(
// CHECK: %[[PLACES:.*]] = onnx.NonZero %arg1
// CHECK-NEXT: %[[ROWS:.*]] = onnx.Reshape %[[PLACES]]
// CHECK-NEXT: onnx.Gather %arg0, %[[ROWS]] {axis = 1 : i64}
func.func @compress(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>, %c: tensor<4xi1>) -> !u {
  %y = onnx.Compress %x, %c {axis = 1 : i64} : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>, tensor<4xi1>) -> !u
  return %y : !u
}
