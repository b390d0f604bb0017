// Of a pool that was narrowed (narrow-caches) the wider numbers are given no more: what is
// given is what is stored, as programs want it.
// RUN: shard-opt %s --shardc-quantize-pages | FileCheck %s

!pool = tensor<?x2x16x8xbf16, #dist.value<dims = [n, 2, 16, 8]>>
!added = tensor<1x2x?x8xbf16, #dist.value<dims = [1, 2, t, 8]>>
!query = tensor<1x4x?x8xbf16, #dist.value<dims = [1, 4, t, 8]>>
!t = tensor<?xi64, #dist.value<dims = [t]>>
!r = tensor<?xi64, #dist.value<dims = [r]>>
!first = tensor<?xi64, #dist.value<dims = [r + 1]>>
!pages = tensor<?x?xi64, #dist.value<dims = [r, p]>>
!copies = tensor<?x2xi64, #dist.value<dims = [m, 2]>>

// CHECK-NOT: onnx.given = f32
// CHECK: tensor<?x2x16x8xi8, #dist.value<dims = [n, 2, 16, 8]>> {onnx.given = i8, onnx.name = "past"}
// CHECK-NOT: onnx.given = f32
// CHECK: tensor<?x2x16x8xi8, {{[^-]*}}onnx.given = i8, onnx.name = "present"}
// CHECK-NOT: onnx.given = f32
func.func @main(%q: !query {onnx.name = "q"}, %pool: !pool {onnx.name = "past", onnx.given = f32}, %k: !added {onnx.name = "k"}, %slots: !t {onnx.name = "slots"}, %copies: !copies {onnx.name = "copies"}, %pages: !pages {onnx.name = "pages"}, %past: !r {onnx.name = "lengths"}, %first: !first {onnx.name = "first"}) -> (!query {onnx.name = "y"}, !pool {onnx.name = "present", onnx.given = f32, onnx.cache = {dim = 0 : i64, input = 1 : i64, kind = "write"}}) {
  %w = onnx.PageWrite %pool, %k, %slots, %copies {axis = 2 : i64} : (!pool, !added, !t, !copies) -> !pool
  %y = onnx.PagedAttention %q, %w, %w, %pages, %past, %first {scale = 1.0 : f32} : (!query, !pool, !pool, !pages, !r, !first) -> !query
  return %y, %w : !query, !pool
}
