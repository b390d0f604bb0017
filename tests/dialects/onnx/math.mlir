// Functions of one number; known ones are evaluated.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @unary(
// CHECK-NEXT: %[[ABS:.*]] = onnx.Abs %arg0 : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CEIL:.*]] = onnx.Ceil %[[ABS]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[COS:.*]] = onnx.Cos %[[CEIL]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[ERF:.*]] = onnx.Erf %[[COS]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[EXP:.*]] = onnx.Exp %[[ERF]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[FLOOR:.*]] = onnx.Floor %[[EXP]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[LOG:.*]] = onnx.Log %[[FLOOR]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[RECIPROCAL:.*]] = onnx.Reciprocal %[[LOG]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[ROUND:.*]] = onnx.Round %[[RECIPROCAL]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[SIGN:.*]] = onnx.Sign %[[ROUND]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[SIN:.*]] = onnx.Sin %[[SIGN]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[SQRT:.*]] = onnx.Sqrt %[[SIN]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[NEG:.*]] = onnx.Neg %[[SQRT]] : {{.*}} -> tensor<?x?xf16, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[NEG]]
func.func @unary(%x: tensor<?x?xf16, #dist.value<dims = [b, s]>>) -> (!u) {
  %a = onnx.Abs %x : (tensor<?x?xf16, #dist.value<dims = [b, s]>>) -> !u
  %b = onnx.Ceil %a : (!u) -> !u
  %c = onnx.Cos %b : (!u) -> !u
  %d = onnx.Erf %c : (!u) -> !u
  %e = onnx.Exp %d : (!u) -> !u
  %f = onnx.Floor %e : (!u) -> !u
  %g = onnx.Log %f : (!u) -> !u
  %h = onnx.Reciprocal %g : (!u) -> !u
  %i = onnx.Round %h : (!u) -> !u
  %j = onnx.Sign %i : (!u) -> !u
  %k = onnx.Sin %j : (!u) -> !u
  %l = onnx.Sqrt %k : (!u) -> !u
  %m = onnx.Neg %l : (!u) -> !u
  return %m : !u
}

// CHECK-LABEL: func.func @known(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1.41421354> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<1.000000e+00> : tensor<2xf32>} : () -> tensor<2xf32>
// CHECK-NEXT: return %[[CONSTANT]], %[[CONSTANT2]]
func.func @known(%x: tensor<3x4xf32>) -> (!u, !u) {
  %v = onnx.Constant {value = dense<[2.5,-2.5]> : tensor<2xf32>} : () -> tensor<2xf32>
  %a = onnx.Neg %v : (tensor<2xf32>) -> !u
  %b = onnx.Round %a : (!u) -> !u
  %c = onnx.Floor %b : (!u) -> !u
  %d = onnx.Ceil %c : (!u) -> !u
  %e = onnx.Abs %d : (!u) -> !u
  %f = onnx.Sqrt %e : (!u) -> !u
  %g = onnx.Reciprocal %f : (!u) -> !u
  %h = onnx.Sign %g : (!u) -> !u
  return %f, %h : !u, !u
}
