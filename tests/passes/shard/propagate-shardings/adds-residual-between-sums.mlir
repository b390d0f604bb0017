// The residual stands between two sums, as some exporters write it: one rank adds it.
// Where a sum is used elsewhere too, nothing would be saved, and it is made whole.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-verify-phase="phase=sharded allows-unrecorded=true" | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [n, 16]>>
!h = tensor<?x32xf32, #dist.value<dims = [n, 32]>>
dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: func.func @main(
// CHECK: %[[ONCE:.*]] = dist.reshard %arg0 {{.*}} to tensor<{{[^>]*}}partial = {"tp"=2: sum}>>
// CHECK: %[[A:.*]] = onnx.Add %[[ONCE]], {{.*}}partial = {"tp"=2: sum}
// CHECK: %[[B:.*]] = onnx.Add %[[A]], {{.*}}partial = {"tp"=2: sum}
// CHECK: dist.reshard %[[B]]
func.func @main(%x: !x) -> !x {
  %wv = onnx.Weight {name = "wv", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %gate = onnx.Weight {name = "gate", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %g = onnx.Weight {name = "g", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %n = onnx.RMSNormalization %x, %g {axis = 1 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  %v = onnx.MatMul %n, %wv : (!x, tensor<16x32xf32>) -> !h
  %s = onnx.Softplus %v : (!h) -> !h
  %o = onnx.MatMul %s, %wo : (!h, tensor<32x16xf32>) -> !x
  %u = onnx.MatMul %n, %up : (!x, tensor<16x32xf32>) -> !h
  %r = onnx.Relu %u : (!h) -> !h
  %gated = onnx.MatMul %n, %gate : (!x, tensor<16x32xf32>) -> !h
  %e = onnx.Mul %r, %gated : (!h, !h) -> !h
  %d = onnx.MatMul %e, %down : (!h, tensor<32x16xf32>) -> !x
  %xo = onnx.Add %x, %o : (!x, !x) -> !x
  %y = onnx.Add %xo, %d : (!x, !x) -> !x
  %z = onnx.RMSNormalization %y, %g {axis = 1 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  return %z : !x
}

// CHECK-LABEL: func.func @used_elsewhere(
// CHECK-NOT: onnx.Add {{.*}}partial
func.func @used_elsewhere(%x: !x) -> (!x, !x) {
  %wv = onnx.Weight {name = "wv", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %gate = onnx.Weight {name = "gate", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %g = onnx.Weight {name = "g", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %n = onnx.RMSNormalization %x, %g {axis = 1 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  %v = onnx.MatMul %n, %wv : (!x, tensor<16x32xf32>) -> !h
  %s = onnx.Softplus %v : (!h) -> !h
  %o = onnx.MatMul %s, %wo : (!h, tensor<32x16xf32>) -> !x
  %u = onnx.MatMul %n, %up : (!x, tensor<16x32xf32>) -> !h
  %r = onnx.Relu %u : (!h) -> !h
  %gated = onnx.MatMul %n, %gate : (!x, tensor<16x32xf32>) -> !h
  %e = onnx.Mul %r, %gated : (!h, !h) -> !h
  %d = onnx.MatMul %e, %down : (!h, tensor<32x16xf32>) -> !x
  %both = onnx.Add %o, %d : (!x, !x) -> !x
  %z = onnx.RMSNormalization %both, %g {axis = 1 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  %p = onnx.RMSNormalization %o, %g {axis = 1 : i64, epsilon = 1.0e-6 : f32} : (!x, tensor<16xf32>) -> !x
  return %z, %p : !x, !x
}
