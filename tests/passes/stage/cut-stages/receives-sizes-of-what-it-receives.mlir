// A stage is sent the size of what it receives, which only the data knows, though no result of its own has that size.
// RUN: shard-opt %s --shardc-fingerprint --shardc-propagate-shardings --shardc-cut-stages --shardc-verify-phase="phase=staged" | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [n, 16]>>
!wide = tensor<?x64xf32, #dist.value<dims = [n, 64]>>
!bits = tensor<?x16xi1, #dist.value<dims = [n, 16]>>
!ints = tensor<?x16xi64, #dist.value<dims = [n, 16]>>
!count = tensor<i64, #dist.value<dims = []>>
!places = tensor<2x?xi64, #dist.value<dims = [2, k]>>
!rows = tensor<?x2xi64, #dist.value<dims = [k, 2]>>
!picked = tensor<?xf32, #dist.value<dims = [k]>>
!zero = tensor<f32, #dist.value<dims = []>>
dist.mesh @mesh <["pp"=2]>

// CHECK-LABEL: func.func @stage1(
// CHECK: %[[COUNT:.*]] = dist.receive {{.*}} tensor<i64
// CHECK: onnx.ReadSizes %[[COUNT]] {sizes = #dist.dims<[k]>}
// CHECK: onnx.ScatterND
func.func @main(%x: !x {onnx.name = "x"}) -> !x {
  %a = onnx.Weight {name = "a", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %b = onnx.Weight {name = "b", file = "w", offset = 1024 : i64, length = 4096 : i64} : () -> tensor<64x16xf32>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> !zero
  %0 = onnx.MatMul %x, %a : (!x, tensor<16x16xf32>) -> !x
  %1 = onnx.Greater %0, %zero : (!x, !zero) -> !bits
  %2 = onnx.Cast %1 : (!bits) -> !ints
  %3 = onnx.ReduceSum %2 {axes = array<i64: 0, 1>, keepdims = 0 : i64, noop_with_empty_axes = 1 : i64} : (!ints) -> !count
  onnx.ReadSizes %3 {sizes = #dist.dims<[k]>} : !count
  %4 = onnx.NonZero %1 : (!bits) -> !places
  %5 = onnx.Transpose %4 {perm = array<i64: 1, 0>} : (!places) -> !rows
  %6 = onnx.GatherND %0, %5 : (!x, !rows) -> !picked
  %7 = onnx.Expand %zero : (!zero) -> !wide
  %8 = onnx.ScatterND %7, %5, %6 {reduction = "none"} : (!wide, !rows, !picked) -> !wide
  %9 = onnx.MatMul %8, %b : (!wide, tensor<64x16xf32>) -> !x
  return %9 : !x
}
