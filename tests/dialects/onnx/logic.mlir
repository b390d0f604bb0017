// Comparisons and predicates give bool; Where takes its branches' type.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @compare(
// CHECK-NEXT: %[[EQUAL:.*]] = onnx.Equal %arg0, %arg1 : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[LESS:.*]] = onnx.Less %arg0, %arg1 : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[LESSOREQUAL:.*]] = onnx.LessOrEqual %arg0, %arg1 : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[GREATER:.*]] = onnx.Greater %arg0, %arg1 : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[GREATEROREQUAL:.*]] = onnx.GreaterOrEqual %arg0, %arg1 : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[AND:.*]] = onnx.And %[[EQUAL]], %[[LESS]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[OR:.*]] = onnx.Or %[[AND]], %[[LESSOREQUAL]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[XOR:.*]] = onnx.Xor %[[OR]], %[[GREATER]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[NOT:.*]] = onnx.Not %[[XOR]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[AND2:.*]] = onnx.And %[[NOT]], %[[GREATEROREQUAL]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[AND2]]
func.func @compare(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>, %z: tensor<?xf32, #dist.value<dims = [s]>>) -> (!u) {
  %a = onnx.Equal %x, %z : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %b = onnx.Less %x, %z : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %c = onnx.LessOrEqual %x, %z : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %d = onnx.Greater %x, %z : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %e = onnx.GreaterOrEqual %x, %z : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<?xf32, #dist.value<dims = [s]>>) -> !u
  %f = onnx.And %a, %b : (!u, !u) -> !u
  %g = onnx.Or %f, %c : (!u, !u) -> !u
  %h = onnx.Xor %g, %d : (!u, !u) -> !u
  %i = onnx.Not %h : (!u) -> !u
  %j = onnx.And %i, %e : (!u, !u) -> !u
  return %j : !u
}

// CHECK-LABEL: func.func @predicates(
// CHECK-NEXT: %[[ISNAN:.*]] = onnx.IsNaN %arg0 : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[ISINF:.*]] = onnx.IsInf %arg0 : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[OR:.*]] = onnx.Or %[[ISNAN]], %[[ISINF]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[OR]]
func.func @predicates(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %a = onnx.IsNaN %x : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  %b = onnx.IsInf %x : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  %c = onnx.Or %a, %b : (!u, !u) -> !u
  return %c : !u
}

// CHECK-LABEL: func.func @where(
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Where %arg0, %arg1, %arg2 : {{.*}} -> tensor<?x6x?x?xf16, #dist.value<dims = [b, 6, s, s]>>
// CHECK-NEXT: return %[[WHERE]]
func.func @where(%c: tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, s]>>, %x: tensor<6x1x?xf16, #dist.value<dims = [6, 1, s]>>, %z: tensor<f16>) -> (!u) {
  %y = onnx.Where %c, %x, %z : (tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, s]>>, tensor<6x1x?xf16, #dist.value<dims = [6, 1, s]>>, tensor<f16>) -> !u
  return %y : !u
}
