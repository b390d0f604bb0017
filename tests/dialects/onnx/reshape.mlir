// 0 copies, -1 infers; what is the same already goes.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @copies(
// CHECK-NEXT: onnx.Guard #dist.dims<[b]> "at_least" #dist.dims<[1]> "Reshape: -1 needs the other dims, b * s * 6, to be no 0"
// CHECK-NEXT: onnx.Guard #dist.dims<[s]> "at_least" #dist.dims<[1]> "Reshape: -1 needs the other dims, b * s * 6, to be no 0"
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @copies(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[0,0,6,-1]> : tensor<4xi64>} : () -> tensor<4xi64>
  %y = onnx.Reshape %x, %t : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<4xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @merges(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x96xf32, #dist.value<dims = [b * s, 96]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @merges(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[-1,96]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Reshape %x, %t : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<2xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @same(
// CHECK-NEXT: onnx.Guard #dist.dims<[b]> "at_least" #dist.dims<[1]> "Reshape: -1 needs the other dims, b * 96, to be no 0"
// CHECK-NEXT: return %arg0
func.func @same(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[0,-1,96]> : tensor<3xi64>} : () -> tensor<3xi64>
  %y = onnx.Reshape %x, %t : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<3xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @multiple(
// CHECK-NEXT: onnx.Guard #dist.dims<[((s * 3) mod 4)]> "equal" #dist.dims<[0]> "Reshape: s * 3 elements are no multiple of 4"
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x4xf32, #dist.value<dims = [((s * 3) floordiv 4), 4]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @multiple(%x: tensor<?x3xf32, #dist.value<dims = [s, 3]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[-1,4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Reshape %x, %t : (tensor<?x3xf32, #dist.value<dims = [s, 3]>>, tensor<2xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<{{\[\[}}4], [6]]> : tensor<2x1xi64>} : () -> tensor<2x1xi64>
// CHECK-NEXT: return %[[CONSTANT]]
func.func @known(%x: tensor<4x6xf32>) -> (!u) {
  %s = onnx.Shape %x : (tensor<4x6xf32>) -> !u
  %t = onnx.Constant {value = dense<[2,1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Reshape %s, %t : (!u, tensor<2xi64>) -> !u
  return %y : !u
}
