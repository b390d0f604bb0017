// What a TopK chooses by stays as it is; experts are quantised, each with groups of its own, a weight that lies as [n, k] as it lies.
// RUN: shard-opt %s --shardc-quantize-weights=type=int8 | FileCheck %s

!x = tensor<?x64xf32, #dist.value<dims = [s, 64]>>
!r = tensor<?x8xf32, #dist.value<dims = [s, 8]>>
!k = tensor<?x2xf32, #dist.value<dims = [s, 2]>>
!i = tensor<?x2xi64, #dist.value<dims = [s, 2]>>

// CHECK: onnx.quantized = [{{.*}}dims = array<i64: 8, 96, 64>{{.*}}transposed = true{{.*}}dims = array<i64: 8, 64, 96>{{.*}}transposed = false
// CHECK-NOT: name = "router"
// CHECK-LABEL: func.func @main(
// CHECK: %[[ROUTER:.*]] = onnx.Weight {file = "m.data", {{.*}} name = "router"
// CHECK: onnx.MatMul %arg0, %[[ROUTER]]
// CHECK: %[[UP:.*]] = onnx.DequantizeLinear {{.*}} {axis = 2 : i64, block_size = 32 : i64} : (tensor<8x96x64xi8>, tensor<8x96x2xf32>)
// CHECK: %[[TURNED:.*]] = onnx.Transpose %[[UP]] {perm = array<i64: 0, 2, 1>}
// CHECK: onnx.DequantizeLinear {{.*}} : (tensor<8x64x96xi8>, tensor<8x64x3xf32>)
// CHECK: onnx.MixtureOfExperts %arg0, %{{.*}}, %{{.*}}, %[[TURNED]],
func.func @main(%x: !x {onnx.name = "x"}) -> (!x {onnx.name = "y"}) {
  %router = onnx.Weight {file = "m.data", length = 2048 : i64, name = "router", offset = 0 : i64} : () -> tensor<64x8xf32>
  %up = onnx.Weight {file = "m.data", length = 196608 : i64, name = "up", offset = 2048 : i64} : () -> tensor<8x96x64xf32>
  %down = onnx.Weight {file = "m.data", length = 196608 : i64, name = "down", offset = 198656 : i64} : () -> tensor<8x96x64xf32>
  %k = onnx.Constant {value = dense<2> : tensor<1xi64>} : () -> tensor<1xi64>
  %r = onnx.MatMul %x, %router : (!x, tensor<64x8xf32>) -> !r
  %p = onnx.Softmax %r : (!r) -> !r
  %w, %i = onnx.TopK %p, %k {axis = -1 : i64} : (!r, tensor<1xi64>) -> (!k, !i)
  %t = onnx.Transpose %up {perm = array<i64: 0, 2, 1>} : (tensor<8x96x64xf32>) -> tensor<8x64x96xf32>
  %y = onnx.MixtureOfExperts %x, %i, %w, %t, %down : (!x, !i, !k, tensor<8x64x96xf32>, tensor<8x96x64xf32>) -> !x
  return %y : !x
}
