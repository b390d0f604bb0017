// The result has a row for each token, as wide as the second product, or for each of its choices.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.MixtureOfExperts {{.*}} -> tensor<?x6xf32, #dist.value<dims = [n, 6]>>
func.func @main(%x: tensor<?x8xf32, #dist.value<dims = [n, 8]>>, %i: tensor<?x2xi64, #dist.value<dims = [n, 2]>>, %w: tensor<?x2xf32, #dist.value<dims = [n, 2]>>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x6xf32>) -> !u {
  %y = onnx.MixtureOfExperts %x, %i, %w, %up, %down {gate = "halves"} : (tensor<?x8xf32, #dist.value<dims = [n, 8]>>, tensor<?x2xi64, #dist.value<dims = [n, 2]>>, tensor<?x2xf32, #dist.value<dims = [n, 2]>>, tensor<4x8x10xf32>, tensor<4x5x6xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @apart(
// CHECK: onnx.MixtureOfExperts {{.*}} -> tensor<?x2x6xf32, #dist.value<dims = [n, 2, 6]>>
func.func @apart(%x: tensor<?x8xf32, #dist.value<dims = [n, 8]>>, %i: tensor<?x2xi64, #dist.value<dims = [n, 2]>>, %w: tensor<?x2xf32, #dist.value<dims = [n, 2]>>, %up: tensor<4x8x10xf32>, %down: tensor<4x5x6xf32>) -> !u {
  %y = onnx.MixtureOfExperts %x, %i, %w, %up, %down {gate = "halves", keeps_choices} : (tensor<?x8xf32, #dist.value<dims = [n, 8]>>, tensor<?x2xi64, #dist.value<dims = [n, 2]>>, tensor<?x2xf32, #dist.value<dims = [n, 2]>>, tensor<4x8x10xf32>, tensor<4x5x6xf32>) -> !u
  return %y : !u
}
