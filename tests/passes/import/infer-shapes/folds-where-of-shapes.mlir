// Exporters guard Expand against -1: Where(shape == -1, 1, shape).
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[EXPAND:.*]] = onnx.Expand %arg0 : {{.*}} -> tensor<?x1x?x?xf32, #dist.value<dims = [batch, 1, seq, seq]>>
// CHECK-NEXT: return %[[EXPAND]]
func.func @main(%mask: tensor<?x1x1x?xf32, #dist.value<dims = [batch, 1, 1, seq]>>) -> (!u) {
  %shape = onnx.Shape %mask : (tensor<?x1x1x?xf32, #dist.value<dims = [batch, 1, 1, seq]>>) -> !u
  %zero = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %last = onnx.Constant {value = dense<3> : tensor<i64>} : () -> tensor<i64>
  %axes = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %batch = onnx.Gather %shape, %zero : (!u, tensor<i64>) -> !u
  %seq = onnx.Gather %shape, %last : (!u, tensor<i64>) -> !u
  %b1 = onnx.Unsqueeze %batch, %axes : (!u, tensor<1xi64>) -> !u
  %s1 = onnx.Unsqueeze %seq, %axes : (!u, tensor<1xi64>) -> !u
  %one = onnx.Constant {value = dense<[1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %target = onnx.Concat %b1, %one, %s1, %s1 {axis = 0 : i64} : (!u, tensor<1xi64>, !u, !u) -> !u
  %rank = onnx.Shape %target : (!u) -> !u
  %ones = onnx.ConstantOfShape %rank {value = dense<1> : tensor<1xi64>} : (!u) -> !u
  %minus = onnx.Constant {value = dense<-1> : tensor<i64>} : () -> tensor<i64>
  %never = onnx.Mul %ones, %minus : (!u, tensor<i64>) -> !u
  %isFree = onnx.Equal %target, %never : (!u, !u) -> !u
  %clean = onnx.Where %isFree, %ones, %target : (!u, !u, !u) -> !u
  %y = onnx.Expand %mask, %clean : (tensor<?x1x1x?xf32, #dist.value<dims = [batch, 1, 1, seq]>>, !u) -> !u
  return %y : !u
}
