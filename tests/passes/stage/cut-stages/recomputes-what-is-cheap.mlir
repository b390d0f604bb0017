// A mask, which depends on inputs alone, and a tied matrix are in both stages; only
// the hidden state is sent.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-cut-stages --shardc-verify-phase="phase=staged allows-unrecorded=true" | FileCheck %s

!ids = tensor<?xi64, #dist.value<dims = [seq]>>
!x = tensor<?x16xf32, #dist.value<dims = [seq, 16]>>
!m = tensor<?x1xf32, #dist.value<dims = [seq, 1]>>
!l = tensor<?x64xf32, #dist.value<dims = [seq, 64]>>
dist.mesh @mesh <["pp"=2, "tp"=1]>

func.func @main(%ids: !ids, %m: !m) -> !l {
  %table = onnx.Weight {name = "table", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<64x16xf32>
  %w = onnx.Weight {name = "w", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %mask = onnx.Neg %m : (!m) -> !m
  %x = onnx.Gather %table, %ids {axis = 0 : i64} : (tensor<64x16xf32>, !ids) -> !x
  %z = onnx.Mul %x, %mask : (!x, !m) -> !x
  %a = onnx.MatMul %z, %w : (!x, tensor<16x16xf32>) -> !x
  %b = onnx.Add %a, %mask : (!x, !m) -> !x
  %t = onnx.Transpose %table {perm = array<i64: 1, 0>} : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %c = onnx.Mul %b, %mask : (!x, !m) -> !x
  %y = onnx.MatMul %c, %t : (!x, tensor<16x64xf32>) -> !l
  return %y : !l
}

// CHECK-LABEL: func.func @stage0(
// CHECK: onnx.Weight {{.*}}name = "table"
// CHECK: onnx.Neg %arg1
// CHECK: dist.send
// CHECK-NOT: dist.send
// CHECK-LABEL: func.func @stage1(
// CHECK: onnx.Weight {{.*}}name = "table"
// CHECK: onnx.Neg %arg1
// CHECK: dist.receive
// CHECK-NOT: dist.receive
