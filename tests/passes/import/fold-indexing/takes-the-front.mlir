// A mask may have more columns than there are keys; those behind are not read. Fewer were an error, and are one.
// RUN: shard-opt %s --shardc-fold-indexing | FileCheck %s

// CHECK-LABEL: func.func @front(
// CHECK: onnx.Guard #dist.dims<[all]> "at_least" #dist.dims<[s]> "GatherND: indices up to s of a dim of all"
// CHECK: %[[FRONT:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK: onnx.Reshape %[[FRONT]]
// CHECK-NOT: onnx.GatherND
func.func @front(%mask: tensor<?x?xi1, #dist.value<dims = [b, all]>>) -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>> {
  %rows = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [b]>>
  %keys = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
  %row = onnx.Reshape %rows : (tensor<?xi64, #dist.value<dims = [b]>>) -> tensor<?x1x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1, 1]>>
  %key = onnx.Reshape %keys : (tensor<?xi64, #dist.value<dims = [s]>>) -> tensor<1x1x1x?x1xi64, #dist.value<dims = [1, 1, 1, s, 1]>>
  %allrows = onnx.Expand %row : (tensor<?x1x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1, 1]>>) -> tensor<?x1x1x?x1xi64, #dist.value<dims = [b, 1, 1, s, 1]>>
  %allkeys = onnx.Expand %key : (tensor<1x1x1x?x1xi64, #dist.value<dims = [1, 1, 1, s, 1]>>) -> tensor<?x1x1x?x1xi64, #dist.value<dims = [b, 1, 1, s, 1]>>
  %at = onnx.Concat %allrows, %allkeys {axis = 4 : i64} : (tensor<?x1x1x?x1xi64, #dist.value<dims = [b, 1, 1, s, 1]>>, tensor<?x1x1x?x1xi64, #dist.value<dims = [b, 1, 1, s, 1]>>) -> tensor<?x1x1x?x2xi64, #dist.value<dims = [b, 1, 1, s, 2]>>
  %y = onnx.GatherND %mask, %at : (tensor<?x?xi1, #dist.value<dims = [b, all]>>, tensor<?x1x1x?x2xi64, #dist.value<dims = [b, 1, 1, s, 2]>>) -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>
  return %y : tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>
}

// There are five rows of a table of four: no request runs.
// CHECK-LABEL: func.func @behind(
// CHECK: onnx.GatherND
func.func @behind(%x: tensor<4x3xf32>) -> tensor<5x3xf32> {
  %i = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<5xi64>
  %at = onnx.Reshape %i : (tensor<5xi64>) -> tensor<5x1xi64>
  %both = onnx.Concat %at {axis = 1 : i64} : (tensor<5x1xi64>) -> tensor<5x1xi64>
  %y = onnx.GatherND %x, %both : (tensor<4x3xf32>, tensor<5x1xi64>) -> tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}
