// A cache with room for 8 positions, written where an input says, is one that grows:
// the step has neither the room nor the input. Dims of 8 that count heads' numbers stay.
// RUN: shard-opt %s --split-input-file --verify-diagnostics --shardc-batch-rows="page=4" | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!places = tensor<?xi64, #dist.value<dims = [s]>>
!column = tensor<?x1xi64, #dist.value<dims = [s, 1]>>
!past = tensor<?x1x8x8xf32, #dist.value<dims = [b, 1, 8, 8]>>
!x = tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
!heads = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, s, 8]>>
!one = tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, s, 1]>>
!indices = tensor<?x1x?x8xi64, #dist.value<dims = [b, 1, s, 8]>>
!shown = tensor<?x8xi1, #dist.value<dims = [s, 8]>>
!mask = tensor<1x1x?x8xi1, #dist.value<dims = [1, 1, s, 8]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: onnx.name = "ids"
// CHECK-NOT: onnx.name = "places"
// CHECK-SAME: tensor<?x1x4x8xf32, #dist.value<dims = ["pages of a pool", 1, 4, 8]>> {onnx.name = "past"}
// CHECK-SAME: %[[POSITION:[^:]*]]: {{[^}]*}} {onnx.name = "rows.position"}
// CHECK-SAME: kind = "write"
// CHECK-SAME: onnx.causal
// CHECK: %[[WRITTEN:.*]] = onnx.PageWrite
// CHECK: %[[KEYS:.*]] = onnx.Range {{.*}} : () -> tensor<?xi64, #dist.value<dims = ["pages of a row" * 4]>>
// CHECK: %[[QUERIES:.*]] = onnx.Reshape %[[POSITION]]
// CHECK: onnx.LessOrEqual %[[KEYS]], %[[QUERIES]]
// CHECK: onnx.PagedAttention %{{.*}}, %[[WRITTEN]], %[[WRITTEN]]
func.func @main(%ids: !ids {onnx.name = "ids"}, %places: !places {onnx.name = "places"}, %past: !past {onnx.name = "past"}) -> (!x, !past) {
  %w = onnx.Weight {file = "w", length = 1280 : i64, name = "w", offset = 0 : i64} : () -> tensor<40x8xf32>
  %x = onnx.Gather %w, %ids : (tensor<40x8xf32>, !ids) -> !x
  %heads = onnx.Reshape %x : (!x) -> !heads
  %one = onnx.Reshape %places : (!places) -> !one
  %indices = onnx.Expand %one : (!one) -> !indices
  %present = onnx.ScatterElements %past, %indices, %heads {axis = 2 : i64} : (!past, !indices, !heads) -> !past
  %keys = onnx.Constant {value = dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi64>} : () -> tensor<8xi64>
  %queries = onnx.Reshape %places : (!places) -> !column
  %shown = onnx.LessOrEqual %keys, %queries : (tensor<8xi64>, !column) -> !shown
  %mask = onnx.Reshape %shown : (!shown) -> !mask
  %y = onnx.Attention %heads, %present, %present, %mask {scale = 5.000000e-01 : f32} : (!heads, !past, !past, !mask) -> !heads
  %out = onnx.Reshape %y : (!heads) -> !x
  return %out, %present : !x, !past
}

// -----

// Without a mask all places are shown, those that hold nothing too.

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!places = tensor<?xi64, #dist.value<dims = [s]>>
!past = tensor<?x1x8x8xf32, #dist.value<dims = [b, 1, 8, 8]>>
!x = tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
!heads = tensor<?x1x?x8xf32, #dist.value<dims = [b, 1, s, 8]>>
!one = tensor<1x1x?x1xi64, #dist.value<dims = [1, 1, s, 1]>>
!indices = tensor<?x1x?x8xi64, #dist.value<dims = [b, 1, s, 8]>>

func.func @main(%ids: !ids {onnx.name = "ids"}, %places: !places {onnx.name = "places"}, %past: !past {onnx.name = "past"}) -> (!x, !past) {
  %w = onnx.Weight {file = "w", length = 1280 : i64, name = "w", offset = 0 : i64} : () -> tensor<40x8xf32>
  %x = onnx.Gather %w, %ids : (tensor<40x8xf32>, !ids) -> !x
  %heads = onnx.Reshape %x : (!x) -> !heads
  %one = onnx.Reshape %places : (!places) -> !one
  %indices = onnx.Expand %one : (!one) -> !indices
  %present = onnx.ScatterElements %past, %indices, %heads {axis = 2 : i64} : (!past, !indices, !heads) -> !past
  // expected-error @below {{it is not known to hide the places of a cache that hold nothing}}
  %y = onnx.Attention %heads, %present, %present {scale = 5.000000e-01 : f32} : (!heads, !past, !past) -> !heads
  %out = onnx.Reshape %y : (!heads) -> !x
  return %out, %present : !x, !past
}
