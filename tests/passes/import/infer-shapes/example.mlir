// A Reshape whose target the exporter computes: [batch, seq, -1, 16].
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: onnx.Guard #dist.dims<[batch]> "at_least" #dist.dims<[1]> "Reshape: -1 needs the other dims, batch * seq * 16, to be no 0"
// CHECK-NEXT: onnx.Guard #dist.dims<[seq]> "at_least" #dist.dims<[1]> "Reshape: -1 needs the other dims, batch * seq * 16, to be no 0"
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x6x16xf32, #dist.value<dims = [batch, seq, 6, 16]>>
// CHECK-NEXT: return %[[RESHAPE]]
func.func @main(%x: tensor<?x?x96xf32, #dist.value<dims = [batch, seq, 96]>>) -> (!u) {
  %shape = onnx.Shape %x : (tensor<?x?x96xf32, #dist.value<dims = [batch, seq, 96]>>) -> !u
  %zero = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %axes = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %batch = onnx.Gather %shape, %zero {axis = 0 : i64} : (!u, tensor<i64>) -> !u
  %seq = onnx.Gather %shape, %one {axis = 0 : i64} : (!u, tensor<i64>) -> !u
  %b1 = onnx.Unsqueeze %batch, %axes : (!u, tensor<1xi64>) -> !u
  %s1 = onnx.Unsqueeze %seq, %axes : (!u, tensor<1xi64>) -> !u
  %rest = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %size = onnx.Constant {value = dense<[16]> : tensor<1xi64>} : () -> tensor<1xi64>
  %target = onnx.Concat %b1, %s1, %rest, %size {axis = 0 : i64} : (!u, !u, tensor<1xi64>, tensor<1xi64>) -> !u
  %y = onnx.Reshape %x, %target : (tensor<?x?x96xf32, #dist.value<dims = [batch, seq, 96]>>, !u) -> !u
  return %y : !u
}
