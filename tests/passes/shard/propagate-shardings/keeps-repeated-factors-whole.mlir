// Rows and columns of an image that is added to its transpose are one factor, of which its
// 16 positions hold two: none of them can be split.
// RUN: shard-opt %s --shardc-propagate-shardings --shardc-verify-phase="phase=sharded allows-unrecorded=true" | FileCheck %s

!x = tensor<?x16x16xf32, #dist.value<dims = [batch, 16, 16]>>
!i = tensor<?x4x4x16xf32, #dist.value<dims = [batch, 4, 4, 16]>>
!s = tensor<?x16x2x8xf32, #dist.value<dims = [batch, 16, 2, 8]>>
!q = tensor<?x2x16x8xf32, #dist.value<dims = [batch, 2, 16, 8]>>
dist.mesh @mesh <["cp"=2]>

// CHECK-LABEL: func.func @main
// CHECK-NOT: "cp"=2
// CHECK: return
func.func @main(%x: !x) -> !x {
  %wk = onnx.Weight {name = "wk", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %i = onnx.Reshape %x : (!x) -> !i
  %t = onnx.Transpose %i {perm = array<i64: 0, 2, 1, 3>} : (!i) -> !i
  %a = onnx.Add %i, %t : (!i, !i) -> !i
  %f = onnx.Reshape %a : (!i) -> !x
  %k = onnx.MatMul %f, %wk : (!x, tensor<16x16xf32>) -> !x
  %ks = onnx.Reshape %k : (!x) -> !s
  %kt = onnx.Transpose %ks {perm = array<i64: 0, 2, 1, 3>} : (!s) -> !q
  %at = onnx.Attention %kt, %kt, %kt : (!q, !q, !q) -> !q
  %as = onnx.Transpose %at {perm = array<i64: 0, 2, 1, 3>} : (!q) -> !s
  %y = onnx.Reshape %as : (!s) -> !x
  return %y : !x
}
