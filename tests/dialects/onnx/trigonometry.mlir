// Trigonometry goes element by element.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @acos(
// CHECK-NEXT: onnx.Acos %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @acos(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Acos %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @acosh(
// CHECK-NEXT: onnx.Acosh %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @acosh(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Acosh %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @asin(
// CHECK-NEXT: onnx.Asin %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @asin(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Asin %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @asinh(
// CHECK-NEXT: onnx.Asinh %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @asinh(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Asinh %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @atan(
// CHECK-NEXT: onnx.Atan %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @atan(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Atan %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @atanh(
// CHECK-NEXT: onnx.Atanh %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @atanh(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Atanh %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @cosh(
// CHECK-NEXT: onnx.Cosh %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @cosh(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Cosh %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @sinh(
// CHECK-NEXT: onnx.Sinh %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @sinh(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Sinh %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @tan(
// CHECK-NEXT: onnx.Tan %arg0 : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> tensor<?x4xf32, #dist.value<dims = [n, 4]>>
func.func @tan(%x: tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u {
  %y = onnx.Tan %x : (tensor<?x4xf32, #dist.value<dims = [n, 4]>>) -> !u
  return %y : !u
}
