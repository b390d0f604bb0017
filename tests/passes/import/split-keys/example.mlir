// Four ranks share out two key heads: two of them would hold the same keys, so each
// sees those of one half of the places of a page. Sinks come with the merge.
// RUN: shard-opt %s --shardc-split-keys="head-ways=4" | FileCheck %s
// RUN: shard-opt %s --shardc-split-keys="head-ways=2" | FileCheck %s --check-prefix=WHOLE
// RUN: shard-opt %s --shardc-split-keys="head-ways=4 context-ways=2" | FileCheck %s --check-prefix=CONTEXT

!pool = tensor<?x2x16x8xf16, #dist.value<dims = [n, 2, 16, 8]>>
!query = tensor<1x8x?x8xf16, #dist.value<dims = [1, 8, t, 8]>>
!r = tensor<?xi64, #dist.value<dims = [r]>>
!first = tensor<?xi64, #dist.value<dims = [r + 1]>>
!pages = tensor<?x?xi64, #dist.value<dims = [r, p]>>
!mask = tensor<?x1x1x?xi1, #dist.value<dims = [r, 1, 1, p * 16]>>
!sinks = tensor<8xf16>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[SEEN:.*]] = onnx.PagedAttentionParts %arg0, %arg1, %arg1, %arg2, %arg3, %arg4, %arg5 {is_causal = 1 : i64, parts = 2 : i64, scale = 1.000000e+00 : f32} : {{.*}} -> tensor<2x8x?x10xf32, #dist.value<dims = [2, 8, t, 10]>>
// CHECK-NEXT: %[[Y:.*]] = onnx.MergeAttention %[[SEEN]], %arg6 {zero_rows = "none"} : {{.*}} -> tensor<1x8x?x8xf16, #dist.value<dims = [1, 8, t, 8]>>
// CHECK-NEXT: return %[[Y]]
// CONTEXT: onnx.PagedAttentionParts {{.*}}parts = 4 : i64
// CONTEXT-LABEL: func.func @no_groups(
// CONTEXT: onnx.PagedAttentionParts {{.*}}parts = 2 : i64
// WHOLE: onnx.PagedAttention %
// WHOLE-NOT: onnx.MergeAttention
func.func @main(%q: !query, %pool: !pool, %pages: !pages, %past: !r, %first: !first, %mask: !mask, %sinks: !sinks) -> !query {
  %y = onnx.PagedAttention %q, %pool, %pool, %pages, %past, %first, %mask, %sinks {is_causal = 1 : i64, scale = 1.0 : f32, zero_rows = "none"} : (!query, !pool, !pool, !pages, !r, !first, !mask, !sinks) -> !query
  return %y : !query
}

// Without a mask or sinks.
// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %[[SEEN:.*]] = onnx.PagedAttentionParts %arg0, %arg1, %arg1, %arg2, %arg3, %arg4 {{{.*}}parts = 2
// CHECK-NEXT: onnx.MergeAttention %[[SEEN]] : 
func.func @plain(%q: !query, %pool: !pool, %pages: !pages, %past: !r, %first: !first) -> !query {
  %y = onnx.PagedAttention %q, %pool, %pool, %pages, %past, %first {scale = 1.0 : f32} : (!query, !pool, !pool, !pages, !r, !first) -> !query
  return %y : !query
}

// As many query heads as key heads: none is left for the other ranks.
// CHECK-LABEL: func.func @no_groups(
// CHECK-NEXT: onnx.PagedAttention %
!few = tensor<1x2x?x8xf16, #dist.value<dims = [1, 2, t, 8]>>
func.func @no_groups(%q: !few, %pool: !pool, %pages: !pages, %past: !r, %first: !first) -> !few {
  %y = onnx.PagedAttention %q, %pool, %pool, %pages, %past, %first {scale = 1.0 : f32} : (!few, !pool, !pool, !pages, !r, !first) -> !few
  return %y : !few
}
