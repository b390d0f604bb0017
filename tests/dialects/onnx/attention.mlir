// 4-D operands; the scale is written out.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @grouped(
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %arg0, %arg1, %arg2, %arg3 {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x8x?x32xf32, #dist.value<dims = [b, 8, s, 32]>>
// CHECK-NEXT: return %[[ATTENTION]]
func.func @grouped(%q: tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, %k: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, t, 16]>>, %v: tensor<?x4x?x32xf32, #dist.value<dims = [b, 4, t, 32]>>, %m: tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, t]>>) -> (!u) {
  %y = onnx.Attention %q, %k, %v, %m : (tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, t, 16]>>, tensor<?x4x?x32xf32, #dist.value<dims = [b, 4, t, 32]>>, tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, t]>>) -> !u
  return %y : !u
}
