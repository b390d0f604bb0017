// Quantised data stays as it is; what it becomes is f64. Bodies are widened like functions.
// RUN: shard-opt %s --shardc-widen-floats | FileCheck %s

!bytes = tensor<4x4xi8, #dist.value<dims = [4, 4]>>
!float8 = tensor<4x4xf8E4M3FN, #dist.value<dims = [4, 4]>>
!scale = tensor<1x1xf32, #dist.value<dims = [1, 1]>>
!float = tensor<4x4xf32, #dist.value<dims = [4, 4]>>
!flag = tensor<i1, #dist.value<dims = []>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<i1,
func.func @main(%choice: !flag) -> !float {
  // CHECK: onnx.Weight {{.*}} -> tensor<4x4xi8,
  %w = onnx.Weight {file = "m", length = 16 : i64, name = "w", offset = 0 : i64} : () -> !bytes
  %scale = onnx.Constant {value = dense<0.25> : tensor<1x1xf32>} : () -> !scale
  // CHECK: onnx.DequantizeLinear {{.*}} : (tensor<4x4xi8, {{.*}}, tensor<1x1xf64, {{.*}}) -> tensor<4x4xf64,
  %a = onnx.DequantizeLinear %w, %scale {axis = 0 : i64, block_size = 0 : i64} : (!bytes, !scale) -> !float
  // CHECK: onnx.Weight {{.*}} -> tensor<4x4xf8E4M3FN,
  %v = onnx.Weight {file = "m", length = 16 : i64, name = "v", offset = 16 : i64} : () -> !float8
  // CHECK: onnx.Cast {{.*}} : (tensor<4x4xf8E4M3FN, {{.*}}) -> tensor<4x4xf64,
  %b = onnx.Cast %v : (!float8) -> !float
  // CHECK: onnx.If {{.*}}
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x4xf64, {{.*}}, %{{.*}}: tensor<4x4xf64,
  // CHECK-NEXT: onnx.Yield %[[A]] : tensor<4x4xf64,
  %y = onnx.If %choice, %a, %b : (!flag, !float, !float) -> !float {
  ^bb0(%p: !float, %q: !float):
    onnx.Yield %p : !float
  } else {
  ^bb0(%p: !float, %q: !float):
    onnx.Yield %q : !float
  }
  return %y : !float
}
