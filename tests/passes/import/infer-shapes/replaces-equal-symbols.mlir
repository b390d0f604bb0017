// Where two expressions must be equal, one of them stands everywhere. The
// argument then says what it must be.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @total(
// CHECK-SAME: %arg0: tensor<?x?xf32, #dist.value<dims = [batch, past + seq]>>
// CHECK-NEXT: %[[CONCAT:.*]] = onnx.Concat %arg2, %arg1 {axis = 1 : i64} : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [batch, past + seq]>>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[CONCAT]], %arg0 : {{.*}} -> tensor<?x?xf32, #dist.value<dims = [batch, past + seq]>>
// CHECK-NEXT: return %[[ADD]]
func.func @total(%mask: tensor<?x?xf32, #dist.value<dims = [batch, total]>>, %ids: tensor<?x?xf32, #dist.value<dims = [batch, seq]>>, %cache: tensor<?x?xf32, #dist.value<dims = [batch, past]>>) -> (!u) {
  %all = onnx.Concat %cache, %ids {axis = 1 : i64} : (tensor<?x?xf32, #dist.value<dims = [batch, past]>>, tensor<?x?xf32, #dist.value<dims = [batch, seq]>>) -> !u
  %y = onnx.Add %all, %mask : (!u, tensor<?x?xf32, #dist.value<dims = [batch, total]>>) -> !u
  return %y : !u
}
