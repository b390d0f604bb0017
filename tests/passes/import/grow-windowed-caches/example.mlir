// Caches of the last tokens are as long as whole ones, and attention sees as much of them.
// RUN: shard-opt %s --shardc-grow-windowed-caches | FileCheck %s
// RUN: shard-opt %s --shardc-grow-windowed-caches --shardc-infer-shapes --shardc-recover-caches | FileCheck %s --check-prefix=INFERRED

!u = tensor<*x!onnx.unknown>
!x = tensor<?x?x32xf32, #dist.value<dims = [b, s, 32]>>
!kv = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!whole = tensor<?x1x?x16xf32, #dist.value<dims = [b, 1, p, 16]>>
!last = tensor<?x1x?x16xf32, #dist.value<dims = [b, 1, w, 16]>>
!four = tensor<?x1x4x16xf32, #dist.value<dims = [b, 1, 4, 16]>>
!rows = tensor<?xi32, #dist.value<dims = [b]>>

// A whole cache, one whose size is open and one of the window's size.
// CHECK-LABEL: func.func @main(
// CHECK-COUNT-6: tensor<?x1x?x16xf32, #dist.value<dims = [b, 1, p, 16]>>
// CHECK-SAME: onnx.declared = tensor<1x1x?x16xf32>
// CHECK-NOT: sliding_window_cache
// CHECK: return
// INFERRED: kind = "append"
// INFERRED-SAME: kind = "append"
// INFERRED-SAME: kind = "append"
// INFERRED-SAME: kind = "append"
// INFERRED-SAME: kind = "append"
// INFERRED-SAME: kind = "append"
func.func @main(%q: !x {onnx.name = "q"}, %k: !kv {onnx.name = "k"}, %n: !rows {onnx.name = "n"}, %mask: tensor<?x?xi64, #dist.value<dims = [b, t]>> {onnx.name = "mask"},
                %k0: !whole {onnx.name = "k0"}, %v0: !whole {onnx.name = "v0"}, %k1: !last {onnx.name = "k1"}, %v1: !last {onnx.name = "v1"},
                %k2: !four {onnx.name = "k2"}, %v2: !four {onnx.name = "v2"})
    -> (!u, !u, !u, !u, !u, !u {onnx.declared = tensor<1x1x4x16xf32>}, !u) {
  %dims = onnx.Shape %mask : (tensor<?x?xi64, #dist.value<dims = [b, t]>>) -> !u
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %total = onnx.Gather %dims, %one : (!u, tensor<i64>) -> !u
  %t = onnx.Cast %total {to = 6 : i64} : (!u) -> !u
  %y0, %pk0, %pv0 = onnx.microsoft.GroupQueryAttention %q, %k, %k, %k0, %v0, %n, %t {num_heads = 2 : i64, kv_num_heads = 1 : i64}
    : (!x, !kv, !kv, !whole, !whole, !rows, !u) -> (!u, !u, !u)
  %y1, %pk1, %pv1 = onnx.microsoft.GroupQueryAttention %y0, %k, %k, %k1, %v1, %n, %t {num_heads = 2 : i64, kv_num_heads = 1 : i64, local_window_size = 4 : i64, sliding_window_cache = 1 : i64}
    : (!u, !kv, !kv, !last, !last, !rows, !u) -> (!u, !u, !u)
  %y2, %pk2, %pv2 = onnx.microsoft.GroupQueryAttention %y1, %k, %k, %k2, %v2, %n, %t {num_heads = 2 : i64, kv_num_heads = 1 : i64, local_window_size = 4 : i64, sliding_window_cache = 1 : i64}
    : (!u, !kv, !kv, !four, !four, !rows, !u) -> (!u, !u, !u)
  return %y2, %pk0, %pv0, %pk1, %pv1, %pk2, %pv2 : !u, !u, !u, !u, !u, !u, !u
}
