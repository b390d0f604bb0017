// Past keys and values are concatenated; causality counts from their end.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @plain(
// CHECK-NEXT: %[[CONCAT:.*]] = onnx.Concat %arg3, %arg1 {axis = 2 : i64} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: %[[CONCAT2:.*]] = onnx.Concat %arg4, %arg2 {axis = 2 : i64} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %arg0, %[[CONCAT]], %[[CONCAT2]] {scale = 5.000000e-01 : f32} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: return %[[ATTENTION]], %[[CONCAT]], %[[CONCAT2]]
func.func @plain(%q: tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, %k: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, %v: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, %pk: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %pv: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>) -> (!u, !u, !u) {
  %none = onnx.None : () -> none
  %y, %ak, %av = onnx.Attention %q, %k, %v, %none, %pk, %pv {scale = 0.5 : f32} : (tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, none, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>) -> (!u, !u, !u)
  return %y, %ak, %av : !u, !u, !u
}

// CHECK-LABEL: func.func @causal(
// CHECK-NEXT: %[[CONCAT:.*]] = onnx.Concat %arg3, %arg1 {axis = 2 : i64} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: %[[CONCAT2:.*]] = onnx.Concat %arg4, %arg2 {axis = 2 : i64} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[past, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[RANGE2:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + s]>>
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[RANGE]] : {{.*}} -> tensor<?x1xi64, #dist.value<dims = [s, 1]>>
// CHECK-NEXT: %[[LESSOREQUAL:.*]] = onnx.LessOrEqual %[[RANGE2]], %[[RESHAPE]] : {{.*}} -> tensor<?x?xi1, #dist.value<dims = [s, past + s]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<0xFF800000> : tensor<f32>} : () -> tensor<f32>
// CHECK-NEXT: %[[WHERE:.*]] = onnx.Where %[[LESSOREQUAL]], %arg5, %[[CONSTANT]] : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [s, past + s]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %arg0, %[[CONCAT]], %[[CONCAT2]], %[[WHERE]] {scale = 5.000000e-01 : f32} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: return %[[ATTENTION]], %[[CONCAT]], %[[CONCAT2]]
func.func @causal(%q: tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, %k: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, %v: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, %pk: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %pv: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %m: tensor<?x?xf32, #dist.value<dims = [s, past + s]>>) -> (!u, !u, !u) {
  %y, %ak, %av = onnx.Attention %q, %k, %v, %m, %pk, %pv {is_causal = 1 : i64, scale = 0.5 : f32} : (tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, tensor<?x?xf32, #dist.value<dims = [s, past + s]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>) -> (!u, !u, !u)
  return %y, %ak, %av : !u, !u, !u
}
