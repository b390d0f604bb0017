// Batch dims broadcast; vectors become matrices.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @batched(
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %arg1 : {{.*}} -> tensor<?x6x?x?xf32, #dist.value<dims = [b, 6, s, t]>>
// CHECK-NEXT: return %[[MATMUL]]
func.func @batched(%a: tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>, %w: tensor<?x1x16x?xf32, #dist.value<dims = [b, 1, 16, t]>>) -> (!u) {
  %y = onnx.MatMul %a, %w : (tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>, tensor<?x1x16x?xf32, #dist.value<dims = [b, 1, 16, t]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @weight(
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %arg1 : {{.*}} -> tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
// CHECK-NEXT: return %[[MATMUL]]
func.func @weight(%a: tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, %w: tensor<16x32xf32>) -> (!u) {
  %y = onnx.MatMul %a, %w : (tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, tensor<16x32xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @row(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<1x16xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %[[RESHAPE]], %arg1 : {{.*}} -> tensor<?x1x32xf32, #dist.value<dims = [b, 1, 32]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[MATMUL]] : {{.*}} -> tensor<?x32xf32, #dist.value<dims = [b, 32]>>
// CHECK-NEXT: return %[[RESHAPE2]]
func.func @row(%a: tensor<16xf32>, %w: tensor<?x16x32xf32, #dist.value<dims = [b, 16, 32]>>) -> (!u) {
  %y = onnx.MatMul %a, %w : (tensor<16xf32>, tensor<?x16x32xf32, #dist.value<dims = [b, 16, 32]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @column(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<16x1xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %[[RESHAPE]] : {{.*}} -> tensor<?x?x1xf32, #dist.value<dims = [b, s, 1]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[MATMUL]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[RESHAPE2]]
func.func @column(%a: tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, %w: tensor<16xf32>) -> (!u) {
  %y = onnx.MatMul %a, %w : (tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>, tensor<16xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @dot(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<1x16xf32>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<16x1xf32>
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %[[RESHAPE]], %[[RESHAPE2]] : {{.*}} -> tensor<1x1xf32>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[MATMUL]] : {{.*}} -> tensor<f32>
// CHECK-NEXT: return %[[RESHAPE3]]
func.func @dot(%a: tensor<16xf32>, %w: tensor<16xf32>) -> (!u) {
  %y = onnx.MatMul %a, %w : (tensor<16xf32>, tensor<16xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @guarded(
// CHECK-NEXT: %[[MATMUL:.*]] = onnx.MatMul %arg0, %arg1 : {{.*}} -> tensor<?x32xf32, #dist.value<dims = [s, 32]>>
// CHECK-NEXT: return %[[MATMUL]]
func.func @guarded(%a: tensor<?x?xf32, #dist.value<dims = [s, t]>>, %w: tensor<?x32xf32, #dist.value<dims = [u, 32]>>) -> (!u) {
  %y = onnx.MatMul %a, %w : (tensor<?x?xf32, #dist.value<dims = [s, t]>>, tensor<?x32xf32, #dist.value<dims = [u, 32]>>) -> !u
  return %y : !u
}
