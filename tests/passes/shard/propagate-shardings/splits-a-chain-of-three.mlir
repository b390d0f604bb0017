// The columns of `down` with the rows of `head` save most by themselves, but `up` is left out
// then. Together `up` by columns, `down` by rows and `head` by columns save more, for as many
// collectives.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!x = tensor<?x64xf32, #dist.value<dims = [b, 64]>>
!y = tensor<?x256xf32, #dist.value<dims = [b, 256]>>
dist.mesh @mesh <["tp"=2]>

// CHECK: onnx.Weight {{.*}}name = "up"{{.*}}sharding = [{}, {"tp"=2}]>>
// CHECK: onnx.Weight {{.*}}name = "down"{{.*}}sharding = [{"tp"=2}, {}]>>
// CHECK: onnx.Weight {{.*}}name = "head"{{.*}}sharding = [{}, {"tp"=2}]>>
// CHECK-COUNT-1: dist.reshard {{.*}}partial = {"tp"=2: sum}>> to
// CHECK-NOT: dist.reshard {{.*}}partial
func.func @main(%x: !x) -> !y {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 16384 : i64} : () -> tensor<64x64xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 16384 : i64, length = 16384 : i64} : () -> tensor<64x64xf32>
  %head = onnx.Weight {name = "head", file = "w", offset = 32768 : i64, length = 65536 : i64} : () -> tensor<64x256xf32>
  %u = onnx.MatMul %x, %up : (!x, tensor<64x64xf32>) -> !x
  %r = onnx.Relu %u : (!x) -> !x
  %d = onnx.MatMul %r, %down : (!x, tensor<64x64xf32>) -> !x
  %y = onnx.MatMul %d, %head : (!x, tensor<64x256xf32>) -> !y
  return %y : !y
}
