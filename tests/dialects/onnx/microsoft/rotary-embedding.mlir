// Positions choose rows of the caches; one alone is that of the first token.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @flat(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg2, %arg1 : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %arg3, %arg1 : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
// CHECK-NEXT: %[[ROTARYEMBEDDING:.*]] = onnx.RotaryEmbedding %[[TRANSPOSE]], %[[GATHER]], %[[GATHER2]] : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[ROTARYEMBEDDING]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[TRANSPOSE2]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE2]]
func.func @flat(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %at: tensor<?x?xi64, #dist.value<dims = [b, s]>>, %cos: tensor<128x8xf32>, %sin: tensor<128x8xf32>) -> (!u) {
  %y = onnx.microsoft.RotaryEmbedding %x, %at, %cos, %sin : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?xi64, #dist.value<dims = [b, s]>>, tensor<128x8xf32>, tensor<128x8xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @partial(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg2, %arg1 : {{.*}} -> tensor<?x?x4xf32, #dist.value<dims = [b, s, 4]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %arg3, %arg1 : {{.*}} -> tensor<?x?x4xf32, #dist.value<dims = [b, s, 4]>>
// CHECK-NEXT: %[[ROTARYEMBEDDING:.*]] = onnx.RotaryEmbedding %[[TRANSPOSE]], %[[GATHER]], %[[GATHER2]] {interleaved = 1 : i64} : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[ROTARYEMBEDDING]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [b, s, 6, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[TRANSPOSE2]] : {{.*}} -> tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>
// CHECK-NEXT: return %[[RESHAPE2]]
func.func @partial(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, %at: tensor<?x?xi64, #dist.value<dims = [b, s]>>, %cos: tensor<128x4xf32>, %sin: tensor<128x4xf32>) -> (!u) {
  %y = onnx.microsoft.RotaryEmbedding %x, %at, %cos, %sin {interleaved = 1 : i64, num_heads = 6 : i64, rotary_embedding_dim = 8 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>, tensor<?x?xi64, #dist.value<dims = [b, s]>>, tensor<128x4xf32>, tensor<128x4xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @first(
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg1, %[[RANGE]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %[[ADD]] : {{.*}} -> tensor<?x?xi64, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg2, %[[EXPAND]] : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %arg3, %[[EXPAND]] : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
// CHECK-NEXT: %[[ROTARYEMBEDDING:.*]] = onnx.RotaryEmbedding %arg0, %[[GATHER]], %[[GATHER2]] : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>
// CHECK-NEXT: return %[[ROTARYEMBEDDING]]
func.func @first(%x: tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>, %at: tensor<1xi64>, %cos: tensor<128x8xf32>, %sin: tensor<128x8xf32>) -> (!u) {
  %y = onnx.microsoft.RotaryEmbedding %x, %at, %cos, %sin : (tensor<?x6x?x16xf32, #dist.value<dims = [b, 6, s, 16]>>, tensor<1xi64>, tensor<128x8xf32>, tensor<128x8xf32>) -> !u
  return %y : !u
}
