// A key of two numbers, 2.54 and -1, is kept as 127 and -50 with the scale 0.02. The pool
// of scales is a cache of its own; attention gets both.
// RUN: shard-opt %s --shardc-quantize-pages | FileCheck %s
// RUN: shard-opt %s --shardc-quantize-pages="type=f8" | FileCheck %s --check-prefix=F8

!pool = tensor<?x2x16x8xf16, #dist.value<dims = [n, 2, 16, 8]>>
!added = tensor<1x2x?x8xf16, #dist.value<dims = [1, 2, t, 8]>>
!query = tensor<1x4x?x8xf16, #dist.value<dims = [1, 4, t, 8]>>
!t = tensor<?xi64, #dist.value<dims = [t]>>
!r = tensor<?xi64, #dist.value<dims = [r]>>
!first = tensor<?xi64, #dist.value<dims = [r + 1]>>
!pages = tensor<?x?xi64, #dist.value<dims = [r, p]>>
!copies = tensor<?x2xi64, #dist.value<dims = [m, 2]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[POOL:[^:]*]]: tensor<?x2x16x8xi8, {{[^%]*}}{onnx.name = "past"}
// CHECK-SAME: %[[SCALES:[^:]*]]: tensor<?x2x16x1xf32, {{[^%]*}}{onnx.name = "past.scales"}
// CHECK-SAME: tensor<?x2x16x8xi8, #dist.value<dims = [n, 2, 16, 8]>> {onnx.cache = {dim = 0 : i64, input = 1 : i64, kind = "write"}, onnx.name = "present"}
// CHECK-SAME: tensor<?x2x16x1xf32, #dist.value<dims = [n, 2, 16, 1]>> {onnx.cache = {dim = 0 : i64, input = 8 : i64, kind = "write"}, onnx.name = "present.scales"}
// CHECK: onnx.Abs %[[K:arg2]]
// CHECK: %[[MOST:.*]] = onnx.ReduceMax %{{.*}} {axes = array<i64: 3>}
// CHECK: %[[WIDE:.*]] = onnx.Cast %[[MOST]]
// CHECK: %[[SCALE:.*]] = onnx.Max
// CHECK: %[[TIMES:.*]] = onnx.Div %{{.*}}, %[[SCALE]]
// CHECK: %[[ROUND:.*]] = onnx.Round %[[TIMES]]
// CHECK: %[[KEPT:.*]] = onnx.Cast %[[ROUND]] : {{.*}} -> tensor<1x2x?x8xi8,
// CHECK: %[[NEW_SCALES:.*]] = onnx.PageWrite %[[SCALES]], %[[SCALE]], %arg3, %arg4 {axis = 2 : i64}
// CHECK: %[[NEW:.*]] = onnx.PageWrite %[[POOL]], %[[KEPT]], %arg3, %arg4 {axis = 2 : i64}
// CHECK: %[[NONE:.*]] = onnx.None
// CHECK: onnx.PagedAttention %arg0, %[[NEW]], %[[NEW]], %arg5, %arg6, %arg7, %[[NONE]], %[[NONE]], %[[NEW_SCALES]], %[[NEW_SCALES]]
// CHECK: return %{{.*}}, %[[NEW]], %[[NEW_SCALES]]
// F8-NOT: onnx.Round
// F8: onnx.Cast {{.*}} -> tensor<1x2x?x8xf8E4M3FN,
func.func @main(%q: !query {onnx.name = "q"}, %pool: !pool {onnx.name = "past"}, %k: !added {onnx.name = "k"}, %slots: !t {onnx.name = "slots"}, %copies: !copies {onnx.name = "copies"}, %pages: !pages {onnx.name = "pages"}, %past: !r {onnx.name = "lengths"}, %first: !first {onnx.name = "first"}) -> (!query {onnx.name = "y"}, !pool {onnx.name = "present", onnx.cache = {dim = 0 : i64, input = 1 : i64, kind = "write"}}) {
  %w = onnx.PageWrite %pool, %k, %slots, %copies {axis = 2 : i64} : (!pool, !added, !t, !copies) -> !pool
  %y = onnx.PagedAttention %q, %w, %w, %pages, %past, %first {scale = 1.0 : f32} : (!query, !pool, !pool, !pages, !r, !first) -> !query
  return %y, %w : !query, !pool
}
