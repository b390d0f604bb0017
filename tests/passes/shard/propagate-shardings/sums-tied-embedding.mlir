// The LM head uses the table too, and splits it by vocabulary: looking up gives
// zeros for rows of other ranks, hence a partial sum.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!logits = tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%ids: !ids) -> !logits {
  %table = onnx.Weight {name = "table", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<64x16xf32>
  %norm = onnx.Weight {name = "norm", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %e = onnx.Gather %table, %ids {axis = 0 : i64} : (tensor<64x16xf32>, !ids) -> !x
  %n = onnx.RMSNormalization %e, %norm {axis = 2 : i64} : (!x, tensor<16xf32>) -> !x
  %t = onnx.Transpose %table {perm = array<i64: 1, 0>} : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %y = onnx.MatMul %n, %t : (!x, tensor<16x64xf32>) -> !logits
  return %y : !logits
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK: %[[TABLE:.*]] = onnx.Weight {{.*}}name = "table"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2}, {}]>>
// CHECK: %[[NORM:.*]] = onnx.Weight {{.*}}name = "norm"{{.*}} -> tensor<{{[^>]*}}sharding = [{}]>>
// CHECK: %[[E:.*]] = onnx.Gather %[[TABLE]], %[[IDS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[E_WHOLE:.*]] = dist.reshard %[[E]] {why = "sum of the parts of Gather"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[N:.*]] = onnx.RMSNormalization %[[E_WHOLE]], %[[NORM]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[T:.*]] = onnx.Transpose %[[TABLE]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[Y:.*]] = onnx.MatMul %[[N]], %[[T]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: return %[[Y]]
