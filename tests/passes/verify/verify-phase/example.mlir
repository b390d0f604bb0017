// Each phase's output satisfies its own verifier, and leaves it unchanged.
// RUN: shard-opt %s --shardc-fingerprint --shardc-verify-phase=phase=imported --shardc-propagate-shardings --shardc-verify-phase=phase=sharded --shardc-cut-stages --shardc-verify-phase=phase=staged --shardc-partition --shardc-verify-phase=phase=partitioned | FileCheck %s
// RUN: shard-opt %s --shardc-fingerprint --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-lower --shardc-verify-phase=phase=lowered | FileCheck %s --check-prefix=LOWERED

!x = tensor<?x16xf32, #dist.value<dims = [batch, 16]>>
!h = tensor<?x32xf32, #dist.value<dims = [batch, 32]>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%x: !x) -> !x {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 2048 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %u = onnx.MatMul %x, %up : (!x, tensor<16x32xf32>) -> !h
  %a = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %a, %down : (!h, tensor<32x16xf32>) -> !x
  return %d : !x
}

// CHECK: func.func @stage0{{.*}} attributes {{{.*}}onnx.fingerprint = "
// CHECK: dist.all_reduce
// LOWERED: rt.program @stage0
