// A pool of pages stays as large as it is; each token gets what its row's pages hold.
// RUN: shard-opt %s --split-input-file --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>
!pool = tensor<?x2x16x8xf32, #dist.value<dims = [n, 2, 16, 8]>>
!values = tensor<?x2x16x6xf32, #dist.value<dims = [n, 2, 16, 6]>>
!added = tensor<1x2x?x8xf32, #dist.value<dims = [1, 2, t, 8]>>
!query = tensor<1x4x?x8xf32, #dist.value<dims = [1, 4, t, 8]>>
!t = tensor<?xi64, #dist.value<dims = [t]>>
!r = tensor<?xi64, #dist.value<dims = [r]>>
!first = tensor<?xi64, #dist.value<dims = [r + 1]>>
!pages = tensor<?x?xi64, #dist.value<dims = [r, p]>>
!copies = tensor<?x2xi64, #dist.value<dims = [m, 2]>>
!mask = tensor<?x1x1x?xi1, #dist.value<dims = [r, 1, 1, p * 16]>>

// CHECK-LABEL: func.func @write(
// CHECK: onnx.PageWrite %arg0, %arg1, %arg2, %arg3 {axis = 2 : i64} : {{.*}} -> tensor<?x2x16x8xf32, #dist.value<dims = [n, 2, 16, 8]>>
func.func @write(%pool: !pool, %added: !added, %slots: !t, %copies: !copies) -> (!u) {
  %y = onnx.PageWrite %pool, %added, %slots, %copies {axis = 2 : i64} : (!pool, !added, !t, !copies) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @attention(
// CHECK: onnx.PagedAttention %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 {{.*}} -> tensor<1x4x?x6xf32, #dist.value<dims = [1, 4, t, 6]>>
func.func @attention(%q: !query, %k: !pool, %v: !values, %pages: !pages, %past: !r, %first: !first, %mask: !mask) -> (!u) {
  %y = onnx.PagedAttention %q, %k, %v, %pages, %past, %first, %mask {scale = 1.0 : f32} : (!query, !pool, !values, !pages, !r, !first, !mask) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @parts(
// CHECK: onnx.PagedAttentionParts %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6 {{.*}} -> tensor<2x4x?x8xf32, #dist.value<dims = [2, 4, t, 8]>>
func.func @parts(%q: !query, %k: !pool, %v: !values, %pages: !pages, %past: !r, %first: !first, %mask: !mask) -> (!u) {
  %y = onnx.PagedAttentionParts %q, %k, %v, %pages, %past, %first, %mask {parts = 2 : i64, scale = 1.0 : f32} : (!query, !pool, !values, !pages, !r, !first, !mask) -> !u
  return %y : !u
}

!seen = tensor<2x4x?x8xf32, #dist.value<dims = [2, 4, t, 8]>>
!sinks = tensor<4xf32>
// The type of the values is told: what was seen is in f32 whatever they are in.
// CHECK-LABEL: func.func @merged(
// CHECK: onnx.MergeAttention %arg0, %arg1 {{.*}} -> tensor<1x4x?x6xf16, #dist.value<dims = [1, 4, t, 6]>>
func.func @merged(%seen: !seen, %sinks: !sinks) -> (tensor<*xf16>) {
  %y = onnx.MergeAttention %seen, %sinks : (!seen, !sinks) -> tensor<*xf16>
  return %y : tensor<*xf16>
}
