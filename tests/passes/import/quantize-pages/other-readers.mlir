// What else reads a pool wants its numbers: all of them stay.
// RUN: shard-opt %s --verify-diagnostics --shardc-quantize-pages | FileCheck %s

!pool = tensor<?x2x16x8xf32, #dist.value<dims = [n, 2, 16, 8]>>
!added = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, t, 8]>>
!t = tensor<?xi64, #dist.value<dims = [t]>>
!copies = tensor<?x2xi64, #dist.value<dims = [m, 2]>>

// CHECK: onnx.PageWrite %arg0, %arg1, %arg2, %arg3
// CHECK-SAME: -> tensor<?x2x16x8xf32
// expected-warning @+1 {{--kv-type int8: keys and values stay as they are, since not only attention reads "past", or it is no float of at most 32 bits}}
func.func @main(%pool: !pool {onnx.name = "past"}, %k: !added {onnx.name = "k"}, %slots: !t {onnx.name = "slots"}, %copies: !copies {onnx.name = "copies"}) -> (!pool {onnx.name = "y"}, !pool {onnx.name = "present", onnx.cache = {dim = 0 : i64, input = 0 : i64, kind = "write"}}) {
  %w = onnx.PageWrite %pool, %k, %slots, %copies {axis = 2 : i64} : (!pool, !added, !t, !copies) -> !pool
  %y = onnx.Neg %w : (!pool) -> !pool
  return %y, %w : !pool, !pool
}
