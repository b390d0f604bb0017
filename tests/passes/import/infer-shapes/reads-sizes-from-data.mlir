// What no input size explains is read where it is computed, and folds on as
// usual; a read that nothing needs goes.
// RUN: shard-opt %s --shardc-infer-shapes --shardc-verify-phase="phase=imported allows-unrecorded=true" | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @reshape(
// CHECK-NEXT: onnx.Guard #dist.dims<[n * 96]> "equal" #dist.dims<["/count:0" * 96]>
// CHECK-NEXT: %[[COUNT:.*]] = onnx.ReduceSum %arg1
// CHECK-NEXT: onnx.ReadSizes %[[COUNT]] {sizes = #dist.dims<["/count:0"]>}
// CHECK-NEXT: onnx.Reshape %arg0 : {{.*}} -> tensor<?x6x16xf32, #dist.value<dims = ["/count:0", 6, 16]>>
func.func @reshape(%x: tensor<?x96xf32, #dist.value<dims = [n, 96]>>, %mask: tensor<?xi64, #dist.value<dims = [m]>>) -> (!u) {
  %count = onnx.ReduceSum %mask {keepdims = 0 : i64} : (tensor<?xi64, #dist.value<dims = [m]>>) -> !u loc("/count")
  %axis = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %row = onnx.Unsqueeze %count, %axis : (!u, tensor<1xi64>) -> !u
  %heads = onnx.Constant {value = dense<[6, 16]> : tensor<2xi64>} : () -> tensor<2xi64>
  %shape = onnx.Concat %row, %heads {axis = 0 : i64} : (!u, tensor<2xi64>) -> !u
  %y = onnx.Reshape %x, %shape : (tensor<?x96xf32, #dist.value<dims = [n, 96]>>, !u) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @nonzero(
// CHECK: %[[COUNT:.*]] = onnx.ReduceSum
// CHECK-NEXT: onnx.ReadSizes %[[COUNT]] {sizes = #dist.dims<["/places:0"]>}
// CHECK-NEXT: onnx.NonZero %arg0 : {{.*}} -> tensor<2x?xi64, #dist.value<dims = [2, "/places:0"]>>
func.func @nonzero(%x: tensor<?x4xi1, #dist.value<dims = [n, 4]>>) -> (!u) {
  %y = onnx.NonZero %x : (tensor<?x4xi1, #dist.value<dims = [n, 4]>>) -> !u loc("/places")
  return %y : !u
}

// CHECK-LABEL: func.func @unused(
// CHECK-NEXT: return %arg0
func.func @unused(%x: tensor<?xi1, #dist.value<dims = [n]>>) -> (!u) {
  %y = onnx.NonZero %x : (tensor<?xi1, #dist.value<dims = [n]>>) -> !u
  %z = onnx.Identity %x : (tensor<?xi1, #dist.value<dims = [n]>>) -> !u
  return %z : !u
}
