// Shape, Size, Range, ConstantOfShape.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @sizes(
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[b, s, 96]>} : () -> tensor<3xi64>
// CHECK-NEXT: %[[SYMBOLS2:.*]] = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<1xi64>
// CHECK-NEXT: %[[SYMBOLS3:.*]] = onnx.Symbols {values = #dist.dims<[b * s * 96]>} : () -> tensor<i64>
// CHECK-NEXT: return %[[SYMBOLS]], %[[SYMBOLS2]], %[[SYMBOLS3]]
func.func @sizes(%x: tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> (!u, !u, !u) {
  %a = onnx.Shape %x : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  %b = onnx.Shape %x {start = -2 : i64, end = -1 : i64} : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  %c = onnx.Size %x : (tensor<?x?x96xf32, #dist.value<dims = [b, s, 96]>>) -> !u
  return %a, %b, %c : !u, !u, !u
}

// CHECK-LABEL: func.func @range(
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [seq]>>
// CHECK-NEXT: return %[[RANGE]]
func.func @range(%x: tensor<?x?xf32, #dist.value<dims = [past, seq]>>) -> (!u) {
  %zero = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %s = onnx.Shape %x : (tensor<?x?xf32, #dist.value<dims = [past, seq]>>) -> !u
  %p0 = onnx.Gather %s, %zero : (!u, tensor<i64>) -> !u
  %s0 = onnx.Gather %s, %one : (!u, tensor<i64>) -> !u
  %end = onnx.Add %p0, %s0 : (!u, !u) -> !u
  %y = onnx.Range %p0, %end, %one : (!u, !u, tensor<i64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @small_range(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<[6, 4, 2]> : tensor<3xi64>} : () -> tensor<3xi64>
// CHECK-NEXT: return %[[CONSTANT]]
func.func @small_range(%x: tensor<1xf32>) -> (!u) {
  %a = onnx.Constant {value = dense<6> : tensor<i64>} : () -> tensor<i64>
  %b = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %c = onnx.Constant {value = dense<-2> : tensor<i64>} : () -> tensor<i64>
  %y = onnx.Range %a, %b, %c : (tensor<i64>, tensor<i64>, tensor<i64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @guarded_range(
// CHECK-NEXT: onnx.Guard #dist.dims<[s]> "at_least" #dist.dims<[1]> "Range: from 0 to s - 1 has no size"
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s - 1]>>
// CHECK-NEXT: return %[[RANGE]]
func.func @guarded_range(%x: tensor<?xf32, #dist.value<dims = [s]>>) -> (!u) {
  %a = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %s = onnx.Size %x : (tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %m = onnx.Sub %s, %one : (!u, tensor<i64>) -> !u
  %y = onnx.Range %a, %m, %one : (tensor<i64>, !u, tensor<i64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @fill(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<7> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %[[CONSTANT]] : {{.*}} -> tensor<?x?xi64, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[EXPAND2:.*]] = onnx.Expand %[[CONSTANT2]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[EXPAND]], %[[EXPAND2]]
func.func @fill(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u, !u) {
  %s = onnx.Shape %x : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  %y = onnx.ConstantOfShape %s {value = dense<7> : tensor<1xi64>} : (!u) -> !u
  %z = onnx.ConstantOfShape %s : (!u) -> !u
  return %y, %z : !u, !u
}

// CHECK-LABEL: func.func @weight(
// CHECK-NEXT: %[[WEIGHT:.*]] = onnx.Weight {file = "w", length = 0 : i64, name = "w", offset = 0 : i64} : () -> tensor<96x32xf32>
// CHECK-NEXT: return %[[WEIGHT]]
func.func @weight(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (tensor<96x32xf32>) {
  %w = onnx.Weight {file = "w", length = 0 : i64, name = "w", offset = 0 : i64} : () -> tensor<96x32xf32>
  return %w : tensor<96x32xf32>
}
