// Integer division: exact, rounded down, or left where it may be wrong.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @exact(
// CHECK-NEXT: onnx.Guard #dist.dims<[batch]> "at_least" #dist.dims<[1]> "Div: division by batch"
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [batch, seq]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @exact(%x: tensor<?x?xf32, #dist.value<dims = [batch, seq]>>, %data: tensor<?xf32, #dist.value<dims = [batch * seq]>>) -> (!u) {
  %n = onnx.Size %x : (tensor<?x?xf32, #dist.value<dims = [batch, seq]>>) -> !u
  %shape = onnx.Shape %x {end = 1 : i64} : (tensor<?x?xf32, #dist.value<dims = [batch, seq]>>) -> !u
  %m = onnx.Div %n, %shape : (!u, !u) -> !u
  %rows = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %target = onnx.Concat %shape, %m {axis = 0 : i64} : (!u, !u) -> !u
  %y = onnx.Reshape %data, %target : (tensor<?xf32, #dist.value<dims = [batch * seq]>>, !u) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @rounded(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0]>, steps = array<i64: 1>} : {{.*}} -> tensor<?xf32, #dist.value<dims = [(seq floordiv 2)]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @rounded(%x: tensor<?xf32, #dist.value<dims = [seq]>>) -> (!u) {
  %n = onnx.Shape %x : (tensor<?xf32, #dist.value<dims = [seq]>>) -> !u
  %two = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %half = onnx.Div %n, %two : (!u, tensor<1xi64>) -> !u
  %start = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %start, %half : (tensor<?xf32, #dist.value<dims = [seq]>>, tensor<1xi64>, !u) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @of_a_difference(
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[past * -1 + seq]>} : () -> tensor<1xi64>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
// CHECK-NEXT: %[[DIV:.*]] = onnx.Div %[[SYMBOLS]], %[[CONSTANT]] : {{.*}} -> tensor<1xi64>
// CHECK-NEXT: return %[[DIV]]
func.func @of_a_difference(%x: tensor<?xf32, #dist.value<dims = [seq]>>, %z: tensor<?xi64, #dist.value<dims = [past]>>) -> (!u) {
  %n = onnx.Shape %x : (tensor<?xf32, #dist.value<dims = [seq]>>) -> !u
  %m = onnx.Shape %z : (tensor<?xi64, #dist.value<dims = [past]>>) -> !u
  %d = onnx.Sub %n, %m : (!u, !u) -> !u
  %two = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Div %d, %two : (!u, tensor<1xi64>) -> !u
  return %y : !u
}
