// Positions become a Gather of the caches, flat heads a dim.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %[[ROTARYEMBEDDING:.*]] = onnx.RotaryEmbedding %arg0, %arg1, %arg2 : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: return %[[ROTARYEMBEDDING]]
func.func @plain(%x: tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, %c: tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>, %d: tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>) -> (!u) {
  %y = onnx.RotaryEmbedding %x, %c, %d {num_heads = 8 : i64} : (tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>, tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @positions(
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg1, %arg3 : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %arg2, %arg3 : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
// CHECK-NEXT: %[[ROTARYEMBEDDING:.*]] = onnx.RotaryEmbedding %arg0, %[[GATHER]], %[[GATHER2]] {interleaved = 1 : i64} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: return %[[ROTARYEMBEDDING]]
func.func @positions(%x: tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, %c: tensor<128x8xf32>, %d: tensor<128x8xf32>, %p: tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> (!u) {
  %y = onnx.RotaryEmbedding %x, %c, %d, %p {interleaved = 1 : i64} : (tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, tensor<128x8xf32>, tensor<128x8xf32>, tensor<?x?xi64, #dist.value<dims = [b, s]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @flat(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[ROTARYEMBEDDING:.*]] = onnx.RotaryEmbedding %[[TRANSPOSE]], %arg1, %arg2 : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[ROTARYEMBEDDING]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[TRANSPOSE2]] : {{.*}} -> tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>
// CHECK-NEXT: return %[[RESHAPE2]]
func.func @flat(%x: tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, %c: tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>, %d: tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>) -> (!u) {
  %y = onnx.RotaryEmbedding %x, %c, %d {num_heads = 8 : i64} : (tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>, tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>) -> !u
  return %y : !u
}
