// 1 / sqrt(head size), each step rounded to f32.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<2.500000e-01> : tensor<1xf32>} : () -> tensor<1xf32>
// CHECK-NEXT: %[[MUL:.*]] = onnx.Mul %arg0, %[[CONSTANT]] : {{.*}} -> tensor<?x6x?x16xf32, #dist.value<dims = [batch, 6, seq, 16]>>
// CHECK-NEXT: return %[[MUL]]
func.func @main(%q: tensor<?x6x?x16xf32, #dist.value<dims = [batch, 6, seq, 16]>>) -> (!u) {
  %shape = onnx.Shape %q : (tensor<?x6x?x16xf32, #dist.value<dims = [batch, 6, seq, 16]>>) -> !u
  %start = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[9223372036854775807]> : tensor<1xi64>} : () -> tensor<1xi64>
  %size = onnx.Slice %shape, %start, %end : (!u, tensor<1xi64>, tensor<1xi64>) -> !u
  %number = onnx.Cast %size {to = 1 : i64} : (!u) -> !u
  %root = onnx.Sqrt %number : (!u) -> !u
  %one = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %scale = onnx.Div %one, %root : (tensor<f32>, !u) -> !u
  %y = onnx.Mul %q, %scale : (tensor<?x6x?x16xf32, #dist.value<dims = [batch, 6, seq, 16]>>, !u) -> !u
  return %y : !u
}
