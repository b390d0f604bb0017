// Queries, keys and values in one matrix are three products, however large the LM head is beside them.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!x = tensor<?x8xf32, #dist.value<dims = [s, 8]>>
!qkv = tensor<?x24xf32, #dist.value<dims = [s, 24]>>
!logits = tensor<?x96xf32, #dist.value<dims = [s, 96]>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%x: !x) -> !logits {
  %pack = onnx.Weight {name = "qkv", file = "w", offset = 0 : i64, length = 768 : i64} : () -> tensor<8x24xf32>
  %proj = onnx.Weight {name = "proj", file = "w", offset = 0 : i64, length = 256 : i64} : () -> tensor<8x8xf32>
  %head = onnx.Weight {name = "head", file = "w", offset = 0 : i64, length = 3072 : i64} : () -> tensor<8x96xf32>
  %packed = onnx.MatMul %x, %pack : (!x, tensor<8x24xf32>) -> !qkv
  %q, %k, %v = onnx.Split %packed {axis = 1 : i64} : (!qkv) -> (!x, !x, !x)
  %scores = onnx.Mul %q, %k : (!x, !x) -> !x
  %mixed = onnx.Mul %scores, %v : (!x, !x) -> !x
  %y = onnx.MatMul %mixed, %proj : (!x, tensor<8x8xf32>) -> !x
  %r = onnx.Add %x, %y : (!x, !x) -> !x
  %logits = onnx.MatMul %r, %head : (!x, tensor<8x96xf32>) -> !logits
  return %logits : !logits
}

// CHECK: onnx.Weight {{.*}}name = "qkv"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, [{{.*}}"tp"=2{{.*}}"tp"=2{{.*}}"tp"=2{{.*}}
// CHECK: onnx.Weight {{.*}}name = "proj"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2}, {}]>>
// CHECK: dist.reshard {{.*}} {why = "sum of the parts of MatMul"}
