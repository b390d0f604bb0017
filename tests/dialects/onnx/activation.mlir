// Results as their operands; Clip without its trailing absent bound.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @unary(
// CHECK-NEXT: %[[RELU:.*]] = onnx.Relu %arg0 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[SIGMOID:.*]] = onnx.Sigmoid %[[RELU]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[TANH:.*]] = onnx.Tanh %[[SIGMOID]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[SOFTPLUS:.*]] = onnx.Softplus %[[TANH]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[SOFTSIGN:.*]] = onnx.Softsign %[[SOFTPLUS]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[MISH:.*]] = onnx.Mish %[[SOFTSIGN]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[HARDSWISH:.*]] = onnx.HardSwish %[[MISH]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[GELU:.*]] = onnx.Gelu %[[HARDSWISH]] {approximate = "tanh"} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[LEAKYRELU:.*]] = onnx.LeakyRelu %[[GELU]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[ELU:.*]] = onnx.Elu %[[LEAKYRELU]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[HARDSIGMOID:.*]] = onnx.HardSigmoid %[[ELU]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[HARDSIGMOID]]
func.func @unary(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %a = onnx.Relu %x : (tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> !u
  %b = onnx.Sigmoid %a : (!u) -> !u
  %c = onnx.Tanh %b : (!u) -> !u
  %d = onnx.Softplus %c : (!u) -> !u
  %e = onnx.Softsign %d : (!u) -> !u
  %f = onnx.Mish %e : (!u) -> !u
  %g = onnx.HardSwish %f : (!u) -> !u
  %h = onnx.Gelu %g {approximate = "tanh"} : (!u) -> !u
  %i = onnx.LeakyRelu %h : (!u) -> !u
  %j = onnx.Elu %i : (!u) -> !u
  %k = onnx.HardSigmoid %j : (!u) -> !u
  return %k : !u
}

// CHECK-LABEL: func.func @clip(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0.000000e+00> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[NONE:.*]] = onnx.None : () -> none
// CHECK-NEXT: %[[CLIP:.*]] = onnx.Clip %arg0, %[[CONSTANT]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CLIP2:.*]] = onnx.Clip %[[CLIP]], %[[NONE]], %[[CONSTANT]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [b, s]>>
// CHECK-NEXT: return %[[CLIP2]]
func.func @clip(%x: tensor<?x?xf32, #dist.value<dims = [b, s]>>) -> (!u) {
  %lo = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %none = onnx.None : () -> none
  %a = onnx.Clip %x, %lo, %none : (tensor<?x?xf32, #dist.value<dims = [b, s]>>, tensor<f32>, none) -> !u
  %b = onnx.Clip %a, %none, %lo : (!u, none, tensor<f32>) -> !u
  return %b : !u
}

// CHECK-LABEL: func.func @clip_known(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<[5, 128]> : tensor<2xi64>} : () -> tensor<2xi64>
// CHECK-NEXT: return %[[CONSTANT]]
func.func @clip_known(%x: tensor<3x900xf32>) -> (!u) {
  %s = onnx.Shape %x : (tensor<3x900xf32>) -> !u
  %lo = onnx.Constant {value = dense<5> : tensor<i64>} : () -> tensor<i64>
  %hi = onnx.Constant {value = dense<128> : tensor<i64>} : () -> tensor<i64>
  %a = onnx.Clip %s, %lo, %hi : (!u, tensor<i64>, tensor<i64>) -> !u
  return %a : !u
}
