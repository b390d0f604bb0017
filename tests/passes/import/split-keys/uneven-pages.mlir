// Three ranks on one key head, and pages that do not divide into three parts.
// RUN: shard-opt %s --verify-diagnostics --shardc-split-keys="head-ways=3" | FileCheck %s

!pool = tensor<?x1x16x8xf32, #dist.value<dims = [n, 1, 16, 8]>>
!query = tensor<1x6x?x8xf32, #dist.value<dims = [1, 6, t, 8]>>
!r = tensor<?xi64, #dist.value<dims = [r]>>
!first = tensor<?xi64, #dist.value<dims = [r + 1]>>
!pages = tensor<?x?xi64, #dist.value<dims = [r, p]>>

// CHECK: onnx.PagedAttention %
func.func @main(%q: !query, %pool: !pool, %pages: !pages, %past: !r, %first: !first) -> !query {
  // expected-warning @+1 {{has pages of 16 positions, which do not divide into 3 parts: 3 ranks hold the same keys and values; choose --serve=N with a multiple of 3}}
  %y = onnx.PagedAttention %q, %pool, %pool, %pages, %past, %first {scale = 1.0 : f32} : (!query, !pool, !pool, !pages, !r, !first) -> !query
  return %y : !query
}
