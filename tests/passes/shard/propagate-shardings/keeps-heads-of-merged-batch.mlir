// Keys reach the scores as [batch * heads, seq, size]: the heads stay split on
// the way, nothing between the projections and the output is gathered.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!bshd = tensor<?x?x4x4xf32, #dist.value<dims = [b, s, 4, 4]>>
!bhsd = tensor<?x4x?x4xf32, #dist.value<dims = [b, 4, s, 4]>>
!bhds = tensor<?x4x4x?xf32, #dist.value<dims = [b, 4, 4, s]>>
!nsd = tensor<?x?x4xf32, #dist.value<dims = [b * 4, s, 4]>>
!nds = tensor<?x4x?xf32, #dist.value<dims = [b * 4, 4, s]>>
!scores = tensor<?x4x?x?xf32, #dist.value<dims = [b, 4, s, s]>>
!w = tensor<16x16xf32>

dist.mesh @mesh <["tp"=2]>

func.func @main(%x: !x) -> !x {
  %wq = onnx.Weight {name = "wq", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  %wk = onnx.Weight {name = "wk", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  %wv = onnx.Weight {name = "wv", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  %wo = onnx.Weight {name = "wo", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  %q0 = onnx.MatMul %x, %wq : (!x, !w) -> !x
  %q1 = onnx.Reshape %q0 : (!x) -> !bshd
  %q = onnx.Transpose %q1 {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %k0 = onnx.MatMul %x, %wk : (!x, !w) -> !x
  %k1 = onnx.Reshape %k0 : (!x) -> !bshd
  %k2 = onnx.Transpose %k1 {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %k3 = onnx.Reshape %k2 : (!bhsd) -> !nsd
  %k4 = onnx.Transpose %k3 {perm = array<i64: 0, 2, 1>} : (!nsd) -> !nds
  %k = onnx.Reshape %k4 : (!nds) -> !bhds
  %v0 = onnx.MatMul %x, %wv : (!x, !w) -> !x
  %v1 = onnx.Reshape %v0 : (!x) -> !bshd
  %v = onnx.Transpose %v1 {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %s = onnx.MatMul %q, %k : (!bhsd, !bhds) -> !scores
  %p = onnx.Softmax %s {axis = 3 : i64} : (!scores) -> !scores
  %o0 = onnx.MatMul %p, %v : (!scores, !bhsd) -> !bhsd
  %o1 = onnx.Transpose %o0 {perm = array<i64: 0, 2, 1, 3>} : (!bhsd) -> !bshd
  %o2 = onnx.Reshape %o1 : (!bshd) -> !x
  %y = onnx.MatMul %o2, %wo : (!x, !w) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[WK:.*]] = onnx.Weight {{.*}}name = "wk"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=2, 4)]>>
// CHECK: %[[WO:.*]] = onnx.Weight {{.*}}name = "wo"{{.*}} -> tensor<{{[^>]*}}sharding = [(4:"tp"=2, 4), {}]>>
// CHECK: %[[K0:.*]] = onnx.MatMul %[[X]], %[[WK]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, (4:"tp"=2, 4)]>>
// CHECK: %[[K1:.*]] = onnx.Reshape %[[K0]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}, {}]>>
// CHECK: %[[K2:.*]] = onnx.Transpose %[[K1]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[K3:.*]] = onnx.Reshape %[[K2]]{{.*}} -> tensor<{{[^>]*}}sharding = [(b, 4:"tp"=2), {}, {}]>>
// CHECK: %[[K4:.*]] = onnx.Transpose %[[K3]]{{.*}} -> tensor<{{[^>]*}}sharding = [(b, 4:"tp"=2), {}, {}]>>
// CHECK: %[[K:.*]] = onnx.Reshape %[[K4]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[S:.*]] = onnx.MatMul %{{.*}}, %[[K]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[Y:.*]] = onnx.MatMul %{{.*}}, %[[WO]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[Y_WHOLE:.*]] = dist.reshard %[[Y]] {why = "an output of the model may not be partial"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[Y_WHOLE]]
