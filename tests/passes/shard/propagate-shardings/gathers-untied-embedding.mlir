// A table that nobody shares is split by columns: an all_gather moves half of
// what an all_reduce would.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!logits = tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%ids: !ids) -> !x {
  %table = onnx.Weight {name = "table", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<64x16xf32>
  %norm = onnx.Weight {name = "norm", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %e = onnx.Gather %table, %ids {axis = 0 : i64} : (tensor<64x16xf32>, !ids) -> !x
  %n = onnx.RMSNormalization %e, %norm {axis = 2 : i64} : (!x, tensor<16xf32>) -> !x
  %u = onnx.MatMul %n, %up : (!x, tensor<16x32xf32>) -> !h
  %a = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %a, %down : (!h, tensor<32x16xf32>) -> !x
  %y = onnx.Add %e, %d : (!x, !x) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK: %[[TABLE:.*]] = onnx.Weight {{.*}}name = "table"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[NORM:.*]] = onnx.Weight {{.*}}name = "norm"{{.*}} -> tensor<{{[^>]*}}sharding = [{}]>>
// CHECK: %[[UP:.*]] = onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[DOWN:.*]] = onnx.Weight {{.*}}name = "down"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2}, {}]>>
// CHECK: %[[E:.*]] = onnx.Gather %[[TABLE]], %[[IDS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[E_WHOLE:.*]] = dist.reshard %[[E]] {why = "RMSNormalization needs it whole"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[N:.*]] = onnx.RMSNormalization %[[E_WHOLE]], %[[NORM]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[U:.*]] = onnx.MatMul %[[N]], %[[UP]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[A:.*]] = onnx.Relu %[[U]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[D:.*]] = onnx.MatMul %[[A]], %[[DOWN]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[D_WHOLE:.*]] = dist.reshard %[[D]] {why = "sum of the parts of MatMul"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[Y:.*]] = onnx.Add %[[E_WHOLE]], %[[D_WHOLE]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[Y]]
