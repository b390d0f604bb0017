// Along "fsdp" ranks have rows of their own and share out what "tp" leaves them of
// each weight. The table that is the head's matrix too is gathered for the head
// alone: it is looked up in by columns, which then go to their rows.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!logits = tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>

dist.mesh @mesh <["fsdp"=2, "tp"=2]>

func.func @main(%ids: !ids) -> !logits {
  %table = onnx.Weight {name = "table", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<64x16xf32>
  %norm = onnx.Weight {name = "norm", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %e = onnx.Gather %table, %ids {axis = 0 : i64} : (tensor<64x16xf32>, !ids) -> !x
  %n = onnx.RMSNormalization %e, %norm {axis = 2 : i64} : (!x, tensor<16xf32>) -> !x
  %u = onnx.MatMul %n, %up : (!x, tensor<16x32xf32>) -> !h loc("up_proj")
  %d = onnx.MatMul %u, %down : (!h, tensor<32x16xf32>) -> !x
  %t = onnx.Transpose %table {perm = array<i64: 1, 0>} : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %y = onnx.MatMul %d, %t : (!x, tensor<16x64xf32>) -> !logits
  return %y : !logits
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK: %[[TABLE:.*]] = onnx.Weight {{.*}}name = "table"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2}, {"fsdp"=2}]>>
// CHECK: onnx.Weight {{.*}}name = "norm"{{.*}} -> tensor<{{[^>]*}}sharding = [{}]>>
// CHECK: %[[UP:.*]] = onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{"fsdp"=2}, {"tp"=2}]>>
// CHECK: %[[DOWN:.*]] = onnx.Weight {{.*}}name = "down"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2 + "fsdp"=2}, {}]>>
// CHECK: %[[E:.*]] = onnx.Gather %[[TABLE]], %[[IDS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"fsdp"=2}], partial = {"tp"=2: sum}>>
// CHECK: %[[ROWS:.*]] = dist.reshard %[[E]]{{.*}} to tensor<{{[^>]*}}sharding = [{"fsdp"=2}, {}, {}]>>
// CHECK: onnx.RMSNormalization %[[ROWS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{"fsdp"=2}, {}, {}]>>
// CHECK: %[[UP_WHOLE:.*]] = dist.reshard %[[UP]] {dist.stored, why = "it needs up as [{}, {\22tp\22=2}]"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: onnx.MatMul %{{.*}}, %[[UP_WHOLE]]{{.*}} -> tensor<{{[^>]*}}sharding = [{"fsdp"=2}, {}, {"tp"=2}]>>
// CHECK: %[[DOWN_WHOLE:.*]] = dist.reshard %[[DOWN]] {dist.stored{{.*}} to tensor<{{[^>]*}}sharding = [{"tp"=2}, {}]>>
// CHECK: onnx.MatMul %{{.*}}, %[[DOWN_WHOLE]]{{.*}} -> tensor<{{[^>]*}}sharding = [{"fsdp"=2}, {}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[HEAD:.*]] = dist.reshard %[[TABLE]] {dist.stored{{.*}} to tensor<{{[^>]*}}sharding = [{"tp"=2}, {}]>>
// CHECK: %[[T:.*]] = onnx.Transpose %[[HEAD]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[Y:.*]] = onnx.MatMul %{{.*}}, %[[T]]{{.*}} -> tensor<{{[^>]*}}sharding = [{"fsdp"=2}, {}, {"tp"=2}]>>
// CHECK: return %[[Y]]
