// What adds up floats is marked; largest elements and integers are the same in any order.
// RUN: shard-opt %s --shardc-keep-sums-whole | FileCheck %s

!x = tensor<?x8xf32, #dist.value<dims = [s, 8]>>
!y = tensor<?x4xf32, #dist.value<dims = [s, 4]>>
!one = tensor<?x1xf32, #dist.value<dims = [s, 1]>>
!n = tensor<?x8xi64, #dist.value<dims = [s, 8]>>
!nOne = tensor<?x1xi64, #dist.value<dims = [s, 1]>>

// CHECK-LABEL: func.func @main(
// CHECK: onnx.MatMul {{.*}} {onnx.whole_sums} :
// CHECK: onnx.ReduceSum {{.*}} onnx.whole_sums} :
// CHECK-NOT: onnx.whole_sums
func.func @main(%x: !x {onnx.name = "x"}, %n: !n {onnx.name = "n"}) -> (!y {onnx.name = "y"}, !one {onnx.name = "sum"}, !one {onnx.name = "max"}, !nOne {onnx.name = "whole"}) {
  %w = onnx.Weight {file = "m.onnx", length = 128 : i64, name = "w", offset = 0 : i64} : () -> tensor<8x4xf32>
  %y = onnx.MatMul %x, %w : (!x, tensor<8x4xf32>) -> !y
  %sum = onnx.ReduceSum %x {axes = array<i64: 1>, keepdims = 1 : i64, noop_with_empty_axes = 1 : i64} : (!x) -> !one
  %max = onnx.ReduceMax %x {axes = array<i64: 1>, keepdims = 1 : i64, noop_with_empty_axes = 1 : i64} : (!x) -> !one
  %whole = onnx.ReduceSum %n {axes = array<i64: 1>, keepdims = 1 : i64, noop_with_empty_axes = 1 : i64} : (!n) -> !nOne
  return %y, %sum, %max, %whole : !y, !one, !one, !nOne
}
