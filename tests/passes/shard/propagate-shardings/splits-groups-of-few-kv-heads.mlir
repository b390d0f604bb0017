// 4 KV heads on 8 ranks: 4 ways on the KV heads, the other 2 on the query heads
// that share one. Keys and values are the same on both ranks of such a pair.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!x = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!flat = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!bskd = tensor<?x?x4x4xf32, #dist.value<dims = [b, s, 4, 4]>>
!bksd = tensor<?x4x?x4xf32, #dist.value<dims = [b, 4, s, 4]>>
!one = tensor<?x4x1x?x4xf32, #dist.value<dims = [b, 4, 1, s, 4]>>
!two = tensor<?x4x2x?x4xf32, #dist.value<dims = [b, 4, 2, s, 4]>>
!bshd = tensor<?x?x8x4xf32, #dist.value<dims = [b, s, 8, 4]>>
!bhsd = tensor<?x8x?x4xf32, #dist.value<dims = [b, 8, s, 4]>>
!bhds = tensor<?x8x4x?xf32, #dist.value<dims = [b, 8, 4, s]>>
!scores = tensor<?x8x?x?xf32, #dist.value<dims = [b, 8, s, s]>>

dist.mesh @mesh <["tp"=8]>

func.func @main(%x: !x) -> !x {
  %wq = onnx.Weight {name = "wq", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<32x32xf32>
  %wk = onnx.Weight {name = "wk", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %wv = onnx.Weight {name = "wv", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 0 : i64, length = 4096 : i64} : () -> tensor<32x32xf32>
  %q0 = onnx.MatMul %x, %wq : (!x, tensor<32x32xf32>) -> !x
  %q1 = onnx.Reshape %q0 : (!x) -> !bshd
  %q = onnx.Transpose %q1 {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %k0 = onnx.MatMul %x, %wk : (!x, tensor<32x16xf32>) -> !flat
  %k1 = onnx.Reshape %k0 : (!flat) -> !bskd
  %k2 = onnx.Transpose %k1 {perm = array<i64: 0, 2, 1, 3>} : (!bskd) -> !bksd
  %k3 = onnx.Reshape %k2 : (!bksd) -> !one
  %k4 = onnx.Expand %k3 : (!one) -> !two
  %k5 = onnx.Reshape %k4 : (!two) -> !bhsd
  %k = onnx.Transpose %k5 {perm = array<i64: 0, 1, 3, 2>} : (!bhsd) -> !bhds
  %v0 = onnx.MatMul %x, %wv : (!x, tensor<32x16xf32>) -> !flat
  %v1 = onnx.Reshape %v0 : (!flat) -> !bskd
  %v2 = onnx.Transpose %v1 {perm = array<i64: 0, 2, 1, 3>} : (!bskd) -> !bksd
  %v3 = onnx.Reshape %v2 : (!bksd) -> !one
  %v4 = onnx.Expand %v3 : (!one) -> !two
  %v = onnx.Reshape %v4 : (!two) -> !bhsd
  %s = onnx.MatMul %q, %k : (!bhsd, !bhds) -> !scores
  %p = onnx.Softmax %s {axis = 3 : i64} : (!scores) -> !scores
  %o0 = onnx.MatMul %p, %v : (!scores, !bhsd) -> !bhsd
  %o1 = onnx.Transpose %o0 {perm = array<i64: 0, 2, 1, 3>} : (!bhsd) -> !bshd
  %o2 = onnx.Reshape %o1 : (!bshd) -> !x
  %y = onnx.MatMul %o2, %wo : (!x, tensor<32x32xf32>) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[WQ:.*]] = onnx.Weight {{.*}}name = "wq"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=4, 2:"tp":(4)2, 4)]>>
// CHECK: %[[WK:.*]] = onnx.Weight {{.*}}name = "wk"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=4, 4)]>>
// CHECK: %[[WV:.*]] = onnx.Weight {{.*}}name = "wv"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=4, 4)]>>
// CHECK: %[[WO:.*]] = onnx.Weight {{.*}}name = "wo"{{.*}} -> tensor<{{[^>]*}}sharding = [(4:"tp"=4, 2:"tp":(4)2, 4), {}]>>
// CHECK: %[[Q:.*]] = onnx.Transpose %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=4, 2:"tp":(4)2), {}, {}]>>
// CHECK: %[[K3:.*]] = onnx.Reshape %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=4}, {}, {}, {}]>>
// CHECK: %[[K4:.*]] = onnx.Expand %[[K3]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=4}, {"tp":(4)2}, {}, {}]>>
// CHECK: %[[K5:.*]] = onnx.Reshape %[[K4]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=4, 2:"tp":(4)2), {}, {}]>>
// CHECK: %[[S:.*]] = onnx.MatMul %[[Q]], %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=4, 2:"tp":(4)2), {}, {}]>>
// CHECK: %[[Y:.*]] = onnx.MatMul %{{.*}}, %[[WO]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=8: sum}>>
// CHECK: %[[Y_WHOLE:.*]] = dist.reshard %[[Y]] {why = "an output of the model may not be partial"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[Y_WHOLE]]
