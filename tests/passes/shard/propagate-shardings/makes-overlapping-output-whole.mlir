// An output of which one segment is split and another is not: every rank holds
// the whole part, so the ranks' parts would overlap.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-verify-phase="phase=sharded allows-unrecorded=true" | FileCheck %s

module {
  dist.mesh @mesh <["tp"=2]>

  // CHECK-LABEL: func.func @main
  // CHECK: %[[Y:.*]] = onnx.Concat {{.*}}sharding = [{}, [16: (16) | 64: (64:"tp"=2)]]
  // CHECK: %[[WHOLE:.*]] = dist.reshard %[[Y]] {why = "the ranks' parts of an output of the model may not overlap"}
  // CHECK: return %[[WHOLE]]
  func.func @main(%x: tensor<8x16xf32>) -> tensor<8x80xf32> {
    %w = onnx.Weight {file = "m", length = 4096 : i64, name = "w", offset = 0 : i64} : () -> tensor<16x64xf32>
    %s = onnx.Softmax %x {axis = 1 : i64} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %u = onnx.MatMul %x, %w : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
    %y = onnx.Concat %s, %u {axis = 1 : i64} : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<8x80xf32>
    return %y : tensor<8x80xf32>
  }
}
