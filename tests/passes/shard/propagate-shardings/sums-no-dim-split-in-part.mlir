// A product that sums over [x | relu], of which only the second part is split, would add
// the first on each rank: it gets both whole.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-verify-phase="phase=sharded allows-unrecorded=true" | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16]>>
!h = tensor<?x?x64xf32, #dist.value<dims = [batch, seq, 64]>>
!c = tensor<?x?x80xf32, #dist.value<dims = [batch, seq, 80]>>
dist.mesh @mesh <["tp"=2]>

// CHECK: %[[R:.*]] = onnx.Relu
// CHECK: %[[C:.*]] = onnx.Concat %arg0, %[[R]] {axis = 2 : i64} : {{.*}} -> tensor<?x?x80xf32, #dist.value<dims = [batch, seq, 80], sharding = [{}, {}, {}]>>
// CHECK: onnx.MatMul %[[C]], %{{.*}} tensor<80x16xf32, #dist.value<dims = [80, 16], sharding = [{}, {"tp"=2}]>>
// CHECK-NOT: partial
// CHECK: return
func.func @main(%x: !x) -> !x {
  %wu = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<16x64xf32>
  %wd = onnx.Weight {name = "down", file = "w", offset = 4096 : i64, length = 5120 : i64} : () -> tensor<80x16xf32>
  %u = onnx.MatMul %x, %wu : (!x, tensor<16x64xf32>) -> !h
  %r = onnx.Relu %u : (!h) -> !h
  %c = onnx.Concat %x, %r {axis = 2 : i64} : (!x, !h) -> !c
  %d = onnx.MatMul %c, %wd : (!c, tensor<80x16xf32>) -> !x
  return %d : !x
}
