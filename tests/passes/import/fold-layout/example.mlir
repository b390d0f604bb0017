// K transposed through [-1, s, d], as PyTorch's exporter writes it.
// RUN: shard-opt %s --shardc-infer-shapes --shardc-fold-layout | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: onnx.Guard #dist.dims<[seq]> "at_least" #dist.dims<[1]> "Reshape: -1 needs the other dims, seq * 16, to be no 0"
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %arg0 {perm = array<i64: 0, 1, 3, 2>} : {{.*}} -> tensor<?x6x16x?xf32, #dist.value<dims = [batch, 6, 16, seq]>>
// CHECK-NEXT: return %[[TRANSPOSE]]
func.func @main(%k: tensor<?x6x?x16xf32, #dist.value<dims = [batch, 6, seq, 16]>>) -> (!u) {
  %shape = onnx.Shape %k : (tensor<?x6x?x16xf32, #dist.value<dims = [batch, 6, seq, 16]>>) -> !u
  %start = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %end = onnx.Constant {value = dense<[4]> : tensor<1xi64>} : () -> tensor<1xi64>
  %seqSize = onnx.Slice %shape, %start, %end : (!u, tensor<1xi64>, tensor<1xi64>) -> !u
  %rest = onnx.Constant {value = dense<[-1]> : tensor<1xi64>} : () -> tensor<1xi64>
  %merged = onnx.Concat %rest, %seqSize {axis = 0 : i64} : (tensor<1xi64>, !u) -> !u
  %one = onnx.Reshape %k, %merged : (tensor<?x6x?x16xf32, #dist.value<dims = [batch, 6, seq, 16]>>, !u) -> !u
  %two = onnx.Transpose %one {perm = array<i64: 0, 2, 1>} : (!u) -> !u
  %zero = onnx.Constant {value = dense<[0]> : tensor<1xi64>} : () -> tensor<1xi64>
  %lead = onnx.Slice %shape, %zero, %start : (!u, tensor<1xi64>, tensor<1xi64>) -> !u
  %d = onnx.Constant {value = dense<[16]> : tensor<1xi64>} : () -> tensor<1xi64>
  %s = onnx.Constant {value = dense<[2]> : tensor<1xi64>} : () -> tensor<1xi64>
  %e = onnx.Constant {value = dense<[3]> : tensor<1xi64>} : () -> tensor<1xi64>
  %seq = onnx.Slice %shape, %s, %e : (!u, tensor<1xi64>, tensor<1xi64>) -> !u
  %target = onnx.Concat %lead, %d, %seq {axis = 0 : i64} : (!u, tensor<1xi64>, !u) -> !u
  %three = onnx.Reshape %two, %target : (!u, !u) -> !u
  return %three : !u
}
