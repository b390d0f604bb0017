// Squeeze, Unsqueeze and Flatten become Reshape, Identity and Dropout nothing.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @squeeze(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @squeeze(%x: tensor<?x1x?xf32, #dist.value<dims = [b, 1, s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Squeeze %x, %a : (tensor<?x1x?xf32, #dist.value<dims = [b, 1, s]>>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @squeeze_all(
// CHECK-NEXT: onnx.Guard #dist.dims<[((min(b, 2)) mod 2)]> "equal" #dist.dims<[0]> "Squeeze: b is not a dim to remove"
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [b, 8]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @squeeze_all(%x: tensor<1x?x1x8xf32, #dist.value<dims = [1, b, 1, 8]>>) -> (!u) {
  %y = onnx.Squeeze %x : (tensor<1x?x1x8xf32, #dist.value<dims = [1, b, 1, 8]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @unsqueeze(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<1x?x?x1xf32, #dist.value<dims = [1, b, s, 1]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @unsqueeze(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[-1,0]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Unsqueeze %x, %a : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<2xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @unsqueeze_scalar(
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[b * s]>} : () -> tensor<1xi64>
// CHECK-NEXT: return %[[SYMBOLS]]
func.func @unsqueeze_scalar(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %n = onnx.Size %x : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  %a = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Unsqueeze %n, %a : (!u, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @flatten(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [b * s, 8]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @flatten(%x: tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>) -> (!u) {
  %y = onnx.Flatten %x {axis = 2 : i64} : (tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @dropout(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<true> : tensor<i1>} : () -> tensor<i1>
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %[[CONSTANT]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %arg0, %[[EXPAND]]
func.func @dropout(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u, !u) {
  %a = onnx.Identity %x : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  %y, %m = onnx.Dropout %a : (!u) -> (!u, !u)
  return %y, %m : !u, !u
}
