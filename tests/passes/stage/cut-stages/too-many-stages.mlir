// RUN: shard-opt %s --shardc-propagate-shardings --shardc-cut-stages --verify-diagnostics

!x = tensor<4x16xf32, #dist.value<dims = [4, 16]>>
dist.mesh @mesh <["pp"=3, "tp"=1]>

// expected-error@+1 {{--pp 3: the model can be cut into at most 2 stages; use --pp 2 or less}}
func.func @main(%x: !x) -> !x {
  %v = onnx.Weight {name = "v", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %w = onnx.Weight {name = "w", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %a = onnx.MatMul %x, %v : (!x, tensor<16x16xf32>) -> !x
  %b = onnx.MatMul %a, %w : (!x, tensor<16x16xf32>) -> !x
  return %b : !x
}
