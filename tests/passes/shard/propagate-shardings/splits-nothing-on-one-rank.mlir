// tp = 1: no axis is used, nothing is resharded, nobody is warned.
// RUN: shard-opt %s --shardc-propagate-shardings --verify-diagnostics | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!logits = tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>

dist.mesh @mesh <["tp"=1]>

func.func @main(%x: !x) -> !x {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %u = onnx.MatMul %x, %up : (!x, tensor<16x32xf32>) -> !h
  %a = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %a, %down : (!h, tensor<32x16xf32>) -> !x
  return %d : !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[UP:.*]] = onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK: %[[DOWN:.*]] = onnx.Weight {{.*}}name = "down"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK: %[[U:.*]] = onnx.MatMul %[[X]], %[[UP]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[A:.*]] = onnx.Relu %[[U]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[D:.*]] = onnx.MatMul %[[A]], %[[DOWN]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[D]]
