// GPT-J repeats its table of places for each row of a batch, and each place for
// all numbers of the table's row: a Gather chooses whole rows.
// RUN: shard-opt %s --shardc-fold-indexing | FileCheck %s

!ids = tensor<?x?xi64, #dist.value<dims = [b, s]>>
!y = tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<64x8xf32>, %[[IDS:[^:]*]]: tensor<?x?xi64
// CHECK-NEXT: %[[Y:.*]] = onnx.Gather %[[TABLE]], %[[IDS]]
// CHECK-NEXT: return %[[Y]]
func.func @rows(%table: tensor<64x8xf32>, %ids: !ids) -> !y {
  %tables = onnx.Expand %table : (tensor<64x8xf32>) -> tensor<?x64x8xf32, #dist.value<dims = [b, 64, 8]>>
  %column = onnx.Reshape %ids : (!ids) -> tensor<?x?x1xi64, #dist.value<dims = [b, s, 1]>>
  %places = onnx.Expand %column : (tensor<?x?x1xi64, #dist.value<dims = [b, s, 1]>>) -> tensor<?x?x8xi64, #dist.value<dims = [b, s, 8]>>
  %y = onnx.GatherElements %tables, %places {axis = 1 : i64} : (tensor<?x64x8xf32, #dist.value<dims = [b, 64, 8]>>, tensor<?x?x8xi64, #dist.value<dims = [b, s, 8]>>) -> !y
  return %y : !y
}

// Each element from a place of its own, of fewer than a row has, or of a table
// for each row of the batch.
// CHECK-LABEL: func.func @own_places(
// CHECK: onnx.GatherElements
func.func @own_places(%table: tensor<64x8xf32>, %places: tensor<?x?x8xi64, #dist.value<dims = [b, s, 8]>>) -> !y {
  %tables = onnx.Expand %table : (tensor<64x8xf32>) -> tensor<?x64x8xf32, #dist.value<dims = [b, 64, 8]>>
  %y = onnx.GatherElements %tables, %places {axis = 1 : i64} : (tensor<?x64x8xf32, #dist.value<dims = [b, 64, 8]>>, tensor<?x?x8xi64, #dist.value<dims = [b, s, 8]>>) -> !y
  return %y : !y
}

// CHECK-LABEL: func.func @narrow(
// CHECK: onnx.GatherElements
func.func @narrow(%table: tensor<1x64x9xf32>, %ids: tensor<1x?x1xi64, #dist.value<dims = [1, s, 1]>>) -> tensor<1x?x8xf32, #dist.value<dims = [1, s, 8]>> {
  %places = onnx.Expand %ids : (tensor<1x?x1xi64, #dist.value<dims = [1, s, 1]>>) -> tensor<1x?x8xi64, #dist.value<dims = [1, s, 8]>>
  %y = onnx.GatherElements %table, %places {axis = 1 : i64} : (tensor<1x64x9xf32>, tensor<1x?x8xi64, #dist.value<dims = [1, s, 8]>>) -> tensor<1x?x8xf32, #dist.value<dims = [1, s, 8]>>
  return %y : tensor<1x?x8xf32, #dist.value<dims = [1, s, 8]>>
}

// CHECK-LABEL: func.func @own_tables(
// CHECK: onnx.GatherElements
func.func @own_tables(%tables: tensor<?x64x8xf32, #dist.value<dims = [b, 64, 8]>>, %ids: !ids) -> !y {
  %column = onnx.Reshape %ids : (!ids) -> tensor<?x?x1xi64, #dist.value<dims = [b, s, 1]>>
  %places = onnx.Expand %column : (tensor<?x?x1xi64, #dist.value<dims = [b, s, 1]>>) -> tensor<?x?x8xi64, #dist.value<dims = [b, s, 8]>>
  %y = onnx.GatherElements %tables, %places {axis = 1 : i64} : (tensor<?x64x8xf32, #dist.value<dims = [b, 64, 8]>>, tensor<?x?x8xi64, #dist.value<dims = [b, s, 8]>>) -> !y
  return %y : !y
}
