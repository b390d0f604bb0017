// Each assumption is checked once; a higher bound of a symbol covers a lower.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: onnx.Guard #dist.dims<[seq]> "at_least" #dist.dims<[3]> "Slice: start -3 of a dim of seq"
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[seq - 2, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<2x16xf32>
// CHECK-NEXT: %[[SLICE2:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[seq - 3, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<3x16xf32>
// CHECK-NEXT: %[[SLICE3:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[seq - 2, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<2x16xf32>
// CHECK-NEXT: return %[[SLICE]], %[[SLICE2]], %[[SLICE3]]
func.func @main(%x: tensor<?x16xf32, #dist.value<dims = [seq, 16]>>) -> (!u, !u, !u) {
  %rows = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %a = onnx.Constant {value = dense<[-2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %b = onnx.Constant {value = dense<[-3]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %axis = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %a, %end, %axis : (tensor<?x16xf32, #dist.value<dims = [seq, 16]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  %z = onnx.Slice %x, %b, %end, %axis : (tensor<?x16xf32, #dist.value<dims = [seq, 16]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  %u = onnx.Slice %x, %a, %end, %axis : (tensor<?x16xf32, #dist.value<dims = [seq, 16]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y, %z, %u : !u, !u, !u
}
