// Targets become dims; a Tile of dims of 1 is an Expand.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @expand(
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %arg0 : {{.*}} -> tensor<?x4x2x?x16xf32, #dist.value<dims = [b, 4, 2, s, 16]>>
// CHECK-NEXT: return %[[EXPAND]]
func.func @expand(%x: tensor<?x4x1x?x16xf32, #dist.value<dims = [b, 4, 1, s, 16]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[1,1,2,1,1]> : tensor<5xi64>} : () -> tensor<5xi64>
  %y = onnx.Expand %x, %t : (tensor<?x4x1x?x16xf32, #dist.value<dims = [b, 4, 1, s, 16]>>, tensor<5xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @same(
// CHECK-NEXT: return %arg0
func.func @same(%x: tensor<?x4xf32, #dist.value<dims = [b, 4]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[1,4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Expand %x, %t : (tensor<?x4xf32, #dist.value<dims = [b, 4]>>, tensor<2xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @tile(
// CHECK-NEXT: %[[TILE:.*]] = onnx.Tile %arg0 : {{.*}} -> tensor<?x16xf32, #dist.value<dims = [s * 2, 16]>>
// CHECK-NEXT: return %[[TILE]]
func.func @tile(%x: tensor<?x16xf32, #dist.value<dims = [s, 16]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[2,1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Tile %x, %t : (tensor<?x16xf32, #dist.value<dims = [s, 16]>>, tensor<2xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @tile_ones(
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %arg0 : {{.*}} -> tensor<?x2x16xf32, #dist.value<dims = [b, 2, 16]>>
// CHECK-NEXT: return %[[EXPAND]]
func.func @tile_ones(%x: tensor<?x1x16xf32, #dist.value<dims = [b, 1, 16]>>) -> (!u) {
  %t = onnx.Constant {value = dense<[1,2,1]> : tensor<3xi64>} : () -> tensor<3xi64>
  %y = onnx.Tile %x, %t : (tensor<?x1x16xf32, #dist.value<dims = [b, 1, 16]>>, tensor<3xi64>) -> !u
  return %y : !u
}
