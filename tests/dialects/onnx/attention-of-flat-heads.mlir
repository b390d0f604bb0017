// 3-D operands become 4-D: head counts are dims.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, t, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, t, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, t, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, t, 16]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[TRANSPOSE2]], %[[TRANSPOSE3]] {is_causal = 1 : i64, scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>
// CHECK-NEXT: return %[[RESHAPE4]]
func.func @main(%q: tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, %k: tensor<?x?x64xf32, #dist.value<dims = [b, t, 64]>>, %v: tensor<?x?x64xf32, #dist.value<dims = [b, t, 64]>>) -> (!u) {
  %y = onnx.Attention %q, %k, %v {q_num_heads = 8 : i64, kv_num_heads = 4 : i64, is_causal = 1 : i64} : (tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, tensor<?x?x64xf32, #dist.value<dims = [b, t, 64]>>, tensor<?x?x64xf32, #dist.value<dims = [b, t, 64]>>) -> !u
  return %y : !u
}
