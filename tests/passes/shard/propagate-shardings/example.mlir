// A column-parallel product, then a row-parallel one: one sum for the pair.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [batch, seq, 32]>>

dist.mesh @mesh <["tp"=2]>

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
// CHECK: %[[UP:.*]] = onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[DOWN:.*]] = onnx.Weight {{.*}}name = "down"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2}, {}]>>
// CHECK: %[[U:.*]] = onnx.MatMul %[[X]], %[[UP]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[A:.*]] = onnx.Relu %[[U]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[D:.*]] = onnx.MatMul %[[A]], %[[DOWN]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[D_WHOLE:.*]] = dist.reshard %[[D]] {why = "an output of the model may not be partial"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[D_WHOLE]]
