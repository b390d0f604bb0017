// Attention and MLP side by side: their partial sums are added, biases once, and one
// collective makes the whole.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [batch, seq, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [batch, seq, 32]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[B:.*]] = dist.once %{{.*}} over <["tp"=2]>
// CHECK: %[[A:.*]] = onnx.MatMul {{.*}}partial = {"tp"=2: sum}
// CHECK: %[[AB:.*]] = onnx.Add %[[A]], %[[B]] {{.*}}partial = {"tp"=2: sum}
// CHECK: %[[M:.*]] = onnx.MatMul {{.*}}partial = {"tp"=2: sum}
// CHECK: %[[SUM:.*]] = onnx.Add %[[AB]], %[[M]] {{.*}}partial = {"tp"=2: sum}
// CHECK: %[[WHOLE:.*]] = dist.all_reduce %[[SUM]]
// CHECK: onnx.Add %arg0, %[[WHOLE]]
// CHECK-NOT: all_reduce
// CHECK-LABEL: func.func private @stage0.sharded(
func.func @main(%x: !x) -> !x {
  %wv = onnx.Weight {name = "wv", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %b = onnx.Weight {name = "b", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %gate = onnx.Weight {name = "gate", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %g = onnx.Weight {name = "g", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %n = onnx.RMSNormalization %x, %g {axis = 2 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  %v = onnx.MatMul %n, %wv : (!x, tensor<16x32xf32>) -> !h
  %s = onnx.Softplus %v : (!h) -> !h
  %o = onnx.MatMul %s, %wo : (!h, tensor<32x16xf32>) -> !x
  %ob = onnx.Add %o, %b : (!x, tensor<16xf32>) -> !x
  %u = onnx.MatMul %n, %up : (!x, tensor<16x32xf32>) -> !h
  %r = onnx.Relu %u : (!h) -> !h
  %gated = onnx.MatMul %n, %gate : (!x, tensor<16x32xf32>) -> !h
  %e = onnx.Mul %r, %gated : (!h, !h) -> !h
  %d = onnx.MatMul %e, %down : (!h, tensor<32x16xf32>) -> !x
  %both = onnx.Add %ob, %d : (!x, !x) -> !x
  %y = onnx.Add %x, %both : (!x, !x) -> !x
  %z = onnx.RMSNormalization %y, %g {axis = 2 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  return %z : !x
}
