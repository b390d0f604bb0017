// Every float becomes f64, weights where they are loaded; casts between floats are gone.
// RUN: shard-opt %s --shardc-widen-floats | FileCheck %s

!half = tensor<2x4xf16, #dist.value<dims = [2, 4]>>
!float = tensor<2x4xf32, #dist.value<dims = [2, 4]>>
!weight = tensor<4x4xf32, #dist.value<dims = [4, 4]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<2x4xf64,
// CHECK-SAME: -> tensor<2x4xf64,
func.func @main(%x: !half) -> !half {
  // CHECK: %[[W:.*]] = onnx.Weight {{.*}} : () -> tensor<4x4xf32,
  // CHECK: %[[WIDE:.*]] = onnx.Cast %[[W]] : (tensor<4x4xf32, {{.*}}) -> tensor<4x4xf64,
  %w = onnx.Weight {file = "model.onnx", length = 64 : i64, name = "w", offset = 0 : i64} : () -> !weight
  // CHECK: %[[HALF:.*]] = onnx.Constant {value = dense<5.000000e-01> : tensor<f64>} : () -> tensor<f64,
  %half = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32, #dist.value<dims = []>>
  // CHECK-NEXT: %[[Y:.*]] = onnx.MatMul %{{.*}}, %[[WIDE]]
  %wide = onnx.Cast %x : (!half) -> !float
  %y = onnx.MatMul %wide, %w : (!float, !weight) -> !float
  // CHECK-NEXT: %[[Z:.*]] = onnx.Mul %[[Y]], %[[HALF]]
  %z = onnx.Mul %y, %half : (!float, tensor<f32, #dist.value<dims = []>>) -> !float
  %narrow = onnx.Cast %z : (!float) -> !half
  // CHECK-NEXT: return %[[Z]]
  return %narrow : !half
}
