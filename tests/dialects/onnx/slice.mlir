// A start for each dim; negative steps; clamping of constants.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @half(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[0, 0, 0, 8]>, steps = array<i64: 1, 1, 1, 1>} : {{.*}} -> tensor<?x8x?x8xf32, #dist.value<dims = [b, 8, s, 8]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @half(%x: tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[8]> : tensor<1xi64>} : () -> tensor<1xi64>
  %e = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %d = onnx.Constant {value = dense<[3]> : tensor<1xi64>} : () -> tensor<1xi64>
  %t = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %a, %e, %d, %t : (tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @clamped(
// CHECK-NEXT: return %arg0
func.func @clamped(%x: tensor<10xf32>) -> (!u) {
  %a = onnx.Constant {value = dense<[-100]> : tensor<1xi64>} : () -> tensor<1xi64>
  %e = onnx.Constant {value = dense<[100]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %a, %e : (tensor<10xf32>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @steps(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[1, 0]>, steps = array<i64: 3, 1>} : {{.*}} -> tensor<3x?xf32, #dist.value<dims = [3, s]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @steps(%x: tensor<10x?xf32, #dist.value<dims = [10, s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %e = onnx.Constant {value = dense<[8]> : tensor<1xi64>} : () -> tensor<1xi64>
  %d = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %t = onnx.Constant {value = dense<[3]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Slice %x, %a, %e, %d, %t : (tensor<10x?xf32, #dist.value<dims = [10, s]>>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @backwards(
// CHECK-NEXT: %[[SLICE:.*]] = onnx.Slice %arg0 {bounds = #dist.dims<[9, s - 1]>, steps = array<i64: -2, -1>} : {{.*}} -> tensor<5x?xf32, #dist.value<dims = [5, s]>>
// CHECK-NEXT: return %[[SLICE]]
func.func @backwards(%x: tensor<10x?xf32, #dist.value<dims = [10, s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<[-1,-1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %e = onnx.Constant {value = dense<[-9223372036854775808,-9223372036854775808]> : tensor<2xi64>} : () -> tensor<2xi64>
  %d = onnx.Constant {value = dense<[0,1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %t = onnx.Constant {value = dense<[-2,-1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Slice %x, %a, %e, %d, %t : (tensor<10x?xf32, #dist.value<dims = [10, s]>>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> !u
  return %y : !u
}

// All of the one row that positions share, as MPT slices what it adds to scores.
// CHECK-LABEL: func.func @row_of_a_sequence(
// CHECK-NEXT: onnx.Guard #dist.dims<[max(s * -1 + 1, 0)]> "at_most" #dist.dims<[1]>
// CHECK-NEXT: onnx.Guard #dist.dims<[max(s * -1 + 1, 0) * -1 + 1]> "equal" #dist.dims<[1]>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg1, %arg0 : {{.*}} -> tensor<?x8xf32, #dist.value<dims = [s, 8]>>
// CHECK-NEXT: return %[[ADD]]
func.func @row_of_a_sequence(%x: tensor<1x8xf32>, %y: tensor<?x8xf32, #dist.value<dims = [s, 8]>>) -> (!u) {
  %one = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %s = onnx.Shape %y {start = 0 : i64, end = 1 : i64} : (tensor<?x8xf32, #dist.value<dims = [s, 8]>>) -> !u
  %d = onnx.Sub %one, %s : (tensor<1xi64>, !u) -> !u
  %a = onnx.Max %d, %zero : (!u, tensor<1xi64>) -> !u
  %r = onnx.Slice %x, %a, %end, %zero, %one : (tensor<1x8xf32>, !u, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> !u
  %z = onnx.Add %y, %r : (tensor<?x8xf32, #dist.value<dims = [s, 8]>>, !u) -> !u
  return %z : !u
}

// One row where anything is past, none where nothing is.
// CHECK-LABEL: func.func @row_if_any_is_past(
// CHECK-NOT: onnx.Guard
// CHECK: onnx.Slice {{.*}} -> tensor<?x8xf32, #dist.value<dims = [min(p, 1), 8]>>
func.func @row_if_any_is_past(%x: tensor<3x8xf32>, %past: tensor<?x8xf32, #dist.value<dims = [p, 8]>>) -> (!u) {
  %one = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %zero = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %p = onnx.Shape %past {start = 0 : i64, end = 1 : i64} : (tensor<?x8xf32, #dist.value<dims = [p, 8]>>) -> !u
  %e = onnx.Min %p, %one : (!u, tensor<1xi64>) -> !u
  %y = onnx.Slice %x, %zero, %e, %zero, %one : (tensor<3x8xf32>, tensor<1xi64>, !u, tensor<1xi64>, tensor<1xi64>) -> !u
  return %y : !u
}
