// Broadcasting; chains of Min, Max and Sum; known integers.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @broadcast(
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %arg1 : {{.*}} -> tensor<?x6x?xf32, #dist.value<dims = [b, 6, s]>>
// CHECK-NEXT: return %[[ADD]]
func.func @broadcast(%x: tensor<?x1x?xf32, #dist.value<dims = [b, 1, s]>>, %w: tensor<6x1xf32>) -> (!u) {
  %y = onnx.Add %x, %w : (tensor<?x1x?xf32, #dist.value<dims = [b, 1, s]>>, tensor<6x1xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @powers(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[POW:.*]] = onnx.Pow %arg0, %[[CONSTANT]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[POW]]
func.func @powers(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %two = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %y = onnx.Pow %x, %two : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<i64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @chain(
// CHECK-NEXT: %[[MAX:.*]] = onnx.Max %arg0, %arg1 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[MAX2:.*]] = onnx.Max %[[MAX]], %arg2 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[MAX2]]
func.func @chain(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %z: tensor<?xf32, #dist.value<dims = [s]>>, %w: tensor<1xf32>) -> (!u) {
  %y = onnx.Max %x, %z, %w : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [s]>>, tensor<1xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @sum(
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %arg0, %arg1 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[ADD]], %arg2 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[ADD2]]
func.func @sum(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %z: tensor<?xf32, #dist.value<dims = [s]>>, %w: tensor<1xf32>) -> (!u) {
  %y = onnx.Sum %x, %z, %w : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [s]>>, tensor<1xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @single(
// CHECK-NEXT: return %arg0
func.func @single(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %y = onnx.Min %x : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<[36, 16]> : tensor<2xi64>} : () -> tensor<2xi64>
// CHECK-NEXT: return %[[CONSTANT]]
func.func @known(%x: tensor<6x4xf32>) -> (!u) {
  %s = onnx.Shape %x : (tensor<6x4xf32>) -> !u
  %c = onnx.Constant {value = dense<[5,3]> : tensor<2xi64>} : () -> tensor<2xi64>
  %a = onnx.Mul %s, %c : (!u, tensor<2xi64>) -> !u
  %m = onnx.Mod %a, %c : (!u, tensor<2xi64>) -> !u
  %d = onnx.Div %a, %c : (!u, tensor<2xi64>) -> !u
  %mi = onnx.Min %d, %m : (!u, !u) -> !u
  %ma = onnx.Max %d, %m : (!u, !u) -> !u
  %su = onnx.Sub %ma, %mi : (!u, !u) -> !u
  %e = onnx.Constant {value = dense<[2,2]> : tensor<2xi64>} : () -> tensor<2xi64>
  %p = onnx.Pow %su, %e : (!u, tensor<2xi64>) -> !u
  return %p : !u
}

// CHECK-LABEL: func.func @slopes(
// CHECK-NEXT: %[[PRELU:.*]] = onnx.PRelu %arg0, %arg1 : {{.*}} -> tensor<?x6x?xf32, #dist.value<dims = [b, 6, s]>>
// CHECK-NEXT: return %[[PRELU]]
func.func @slopes(%x: tensor<?x6x?xf32, #dist.value<dims = [b, 6, s]>>, %w: tensor<6x1xf32>) -> (!u) {
  %y = onnx.PRelu %x, %w : (tensor<?x6x?xf32, #dist.value<dims = [b, 6, s]>>, tensor<6x1xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @others(
// CHECK-NEXT: %[[SUB:.*]] = onnx.Sub %arg0, %arg1 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %[[SUB]], %arg1 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[DIV:.*]] = onnx.Div %[[MUL]], %arg1 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[MOD:.*]] = onnx.Mod %[[DIV]], %arg1 {fmod = 1 : i64} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[MIN:.*]] = onnx.Min %[[MOD]], %arg1 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[MIN]]
func.func @others(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %z: tensor<?xf32, #dist.value<dims = [s]>>) -> (!u) {
  %a = onnx.Sub %x, %z : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %b = onnx.Mul %a, %z : (!u, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %c = onnx.Div %b, %z : (!u, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %d = onnx.Mod %c, %z {fmod = 1 : i64} : (!u, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %e = onnx.Min %d, %z : (!u, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  return %e : !u
}
