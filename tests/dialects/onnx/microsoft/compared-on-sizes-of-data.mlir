// An op is compared with its definition whatever its operands' sizes are made of: rows that
// an expert gets are as many as a NonZero finds, of which neither side is a part.
// RUN: not shard-opt %s --shardc-infer-shapes --shardc-test-break-recovery=microsoft.BiasGelu 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: shard-opt %s --shardc-infer-shapes 2>&1 | FileCheck %s

!u = tensor<*x!onnx.unknown>
!x = tensor<?x8xf32, #dist.value<dims = [tokens, 8]>>
!b = tensor<?xi1, #dist.value<dims = [tokens]>>

// BROKEN: loc("first/gelu"): {{.*}}'onnx.microsoft.BiasGelu' op would be replaced by ops that compute something else
// CHECK-NOT: was not compared
// CHECK: return
func.func @main(%x: !x, %chosen: !b, %other: !b, %bias: tensor<8xf32>) -> (!u, !u) {
  %i = onnx.NonZero %chosen : (!b) -> !u
  %rows = onnx.Gather %x, %i {axis = 0 : i64} : (!x, !u) -> !u
  %y = onnx.microsoft.BiasGelu %rows, %bias : (!u, tensor<8xf32>) -> !u loc("first/gelu")
  %j = onnx.NonZero %other : (!b) -> !u
  %more = onnx.Gather %x, %j {axis = 0 : i64} : (!x, !u) -> !u
  %z = onnx.microsoft.BiasGelu %more, %bias : (!u, tensor<8xf32>) -> !u loc("second/gelu")
  return %y, %z : !u, !u
}
