// A KV cache comes in and goes out split by heads; no collective touches it.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!bshd = tensor<?x?x4x4xf32, #dist.value<dims = [b, s, 4, 4]>>
!bhsd = tensor<?x4x?x4xf32, #dist.value<dims = [b, 4, s, 4]>>
!past = tensor<?x4x?x4xf32, #dist.value<dims = [b, 4, past, 4]>>
!all = tensor<?x4x?x4xf32, #dist.value<dims = [b, 4, past + s, 4]>>
!w = tensor<16x16xf32>

dist.mesh @mesh <["tp"=2]>

func.func @main(%x: !x, %pk: !past, %pv: !past) -> (!x, !all, !all) {
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
  %k = onnx.Concat %pk, %k2 {axis = 2 : i64} : (!past, !bhsd) -> !all
  %v0 = onnx.MatMul %x, %wv : (!x, !w) -> !x
  %v1 = onnx.Reshape %v0 : (!x) -> !bshd
  %v2 = onnx.Transpose %v1 {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %v = onnx.Concat %pv, %v2 {axis = 2 : i64} : (!past, !bhsd) -> !all
  %o0 = onnx.Attention %q, %k, %v : (!bhsd, !all, !all) -> !bhsd
  %o1 = onnx.Transpose %o0 {perm = array<i64: 0, 2, 1, 3>} : (!bhsd) -> !bshd
  %o2 = onnx.Reshape %o1 : (!bshd) -> !x
  %y = onnx.MatMul %o2, %wo : (!x, !w) -> !x
  return %y, %k, %v : !x, !all, !all
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK-SAME: %[[PK:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK-SAME: %[[PV:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[WK:.*]] = onnx.Weight {{.*}}name = "wk"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=2, 4)]>>
// CHECK: %[[K:.*]] = onnx.Concat %[[PK]], %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[V:.*]] = onnx.Concat %[[PV]], %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[O0:.*]] = onnx.Attention %{{.*}}, %[[K]], %[[V]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[Y:.*]] = onnx.MatMul %{{.*}}, %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[Y_WHOLE:.*]] = dist.reshard %[[Y]] {why = "an output of the model may not be partial"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[Y_WHOLE]], %[[K]], %[[V]]
