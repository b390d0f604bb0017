// An output may stay split: the LM head costs no collective.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!logits = tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%x: !x) -> !logits {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %norm = onnx.Weight {name = "norm", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %head = onnx.Weight {name = "head", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<16x64xf32>
  %u = onnx.MatMul %x, %up : (!x, tensor<16x32xf32>) -> !h
  %a = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %a, %down : (!h, tensor<32x16xf32>) -> !x
  %r = onnx.Add %x, %d : (!x, !x) -> !x
  %n = onnx.RMSNormalization %r, %norm {axis = 2 : i64} : (!x, tensor<16xf32>) -> !x
  %y = onnx.MatMul %n, %head : (!x, tensor<16x64xf32>) -> !logits
  return %y : !logits
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[HEAD:.*]] = onnx.Weight {{.*}}name = "head"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[VALUE_WHOLE:.*]] = dist.reshard %{{.*}} {why = "sum of the parts of MatMul"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[N:.*]] = onnx.RMSNormalization %{{.*}}, %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[Y:.*]] = onnx.MatMul %[[N]], %[[HEAD]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: return %[[Y]]
