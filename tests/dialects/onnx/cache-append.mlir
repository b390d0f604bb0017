// The cache grows by what is added, or has room for it.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @grows(
// CHECK-NEXT: %[[CACHEAPPEND:.*]] = onnx.CacheAppend %arg0, %arg1, %arg2 : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: return %[[CACHEAPPEND]]
func.func @grows(%past: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %added: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, %n: tensor<?xi64, #dist.value<dims = [b]>>) -> (!u) {
  %y = onnx.CacheAppend %past, %added, %n : (tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, tensor<?xi64, #dist.value<dims = [b]>>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @has_room(
// CHECK-NEXT: %[[CACHEAPPEND:.*]] = onnx.CacheAppend %arg0, %arg1, %arg2 {in_capacity} : {{.*}} -> tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>
// CHECK-NEXT: return %[[CACHEAPPEND]]
func.func @has_room(%past: tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>, %added: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, %n: tensor<?xi64, #dist.value<dims = [b]>>) -> (!u) {
  %y = onnx.CacheAppend %past, %added, %n {in_capacity} : (tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>, tensor<?xi64, #dist.value<dims = [b]>>) -> !u
  return %y : !u
}
