// Tensors of sequences are used where they are taken out; no sequence is left.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[PARTS:.*]]:2 = onnx.Split %arg0
// CHECK-NEXT: %[[ALL:.*]] = onnx.Concat %[[PARTS]]#1, %[[PARTS]]#0, %[[PARTS]]#1
// CHECK-NEXT: return %[[ALL]]
func.func @main(%x: tensor<?x8xf32, #dist.value<dims = [b, 8]>>) -> (!u) {
  %sizes = onnx.Constant {value = dense<[3, 5]> : tensor<2xi64>} : () -> tensor<2xi64>
  %last = onnx.Constant {value = dense<-1> : tensor<i64>} : () -> tensor<i64>
  %first = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %s = onnx.SplitToSequence %x, %sizes {axis = 1 : i64} : (tensor<?x8xf32, #dist.value<dims = [b, 8]>>, tensor<2xi64>) -> !u
  %e = onnx.SequenceAt %s, %last : (!u, tensor<i64>) -> !u
  %t = onnx.SequenceInsert %s, %e, %first : (!u, !u, tensor<i64>) -> !u
  %y = onnx.ConcatFromSequence %t {axis = 1 : i64} : (!u) -> !u
  return %y : !u
}
