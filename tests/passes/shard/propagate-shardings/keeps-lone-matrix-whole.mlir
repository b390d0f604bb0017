// A pooler or router: its result is needed whole and no product with weights
// follows that could sum the parts, so splitting it would only add a collective.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!h = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!logits = tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>

dist.mesh @mesh <["tp"=2]>

func.func @main(%x: !x) -> (!x, !x) {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %router = onnx.Weight {name = "router", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %u = onnx.MatMul %x, %up : (!x, tensor<16x32xf32>) -> !h
  %a = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %a, %down : (!h, tensor<32x16xf32>) -> !x
  %r = onnx.MatMul %d, %router : (!x, tensor<16x16xf32>) -> !x
  %p = onnx.Softmax %r {axis = 2 : i64} : (!x) -> !x
  return %d, %p : !x, !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[ROUTER:.*]] = onnx.Weight {{.*}}name = "router"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK: %[[VALUE_WHOLE:.*]] = dist.reshard %{{.*}} {why = "sum of the parts of MatMul"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[R:.*]] = onnx.MatMul %[[VALUE_WHOLE]], %[[ROUTER]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[P:.*]] = onnx.Softmax %[[R]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[VALUE_WHOLE]], %[[P]]
