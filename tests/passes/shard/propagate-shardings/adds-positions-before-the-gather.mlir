// Two embeddings are split alike and added; the sum is gathered, once.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!logits = tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>
!pos = tensor<?xi64, #dist.value<dims = [s]>>
!row = tensor<?x16xf32, #dist.value<dims = [s, 16]>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%ids: !ids, %at: !pos) -> !x {
  %words = onnx.Weight {name = "words", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<64x16xf32>
  %positions = onnx.Weight {name = "positions", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %norm = onnx.Weight {name = "norm", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %e = onnx.Gather %words, %ids {axis = 0 : i64} : (tensor<64x16xf32>, !ids) -> !x
  %p = onnx.Gather %positions, %at {axis = 0 : i64} : (tensor<32x16xf32>, !pos) -> !row
  %z = onnx.Add %e, %p : (!x, !row) -> !x
  %n = onnx.RMSNormalization %z, %norm {axis = 2 : i64} : (!x, tensor<16xf32>) -> !x
  %u = onnx.MatMul %n, %up : (!x, tensor<16x32xf32>) -> !h
  %a = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %a, %down : (!h, tensor<32x16xf32>) -> !x
  %y = onnx.Add %z, %d : (!x, !x) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK-SAME: %[[AT:[^:]*]]: tensor<{{[^>]*}}sharding = [{}]>>
// CHECK: %[[WORDS:.*]] = onnx.Weight {{.*}}name = "words"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[POSITIONS:.*]] = onnx.Weight {{.*}}name = "positions"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[E:.*]] = onnx.Gather %[[WORDS]], %[[IDS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[P:.*]] = onnx.Gather %[[POSITIONS]], %[[AT]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[Z:.*]] = onnx.Add %[[E]], %[[P]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[Z_WHOLE:.*]] = dist.reshard %[[Z]] {why = "RMSNormalization needs it whole"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[N:.*]] = onnx.RMSNormalization %[[Z_WHOLE]], %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[VALUE_WHOLE:.*]] = dist.reshard %{{.*}} {why = "sum of the parts of MatMul"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %{{.*}}
