// seq < 128 depends on the run: the comparison stays.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[seq]>} : () -> tensor<1xi64>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<128> : tensor<1xi64>} : () -> tensor<1xi64>
// CHECK-NEXT: %[[LESS:.*]] = onnx.Less %[[SYMBOLS]], %[[CONSTANT]] : {{.*}} -> tensor<1xi1>
// CHECK-NEXT: return %[[LESS]]
func.func @main(%x: tensor<?xf32, #dist.value<dims = [seq]>>) -> (!u) {
  %n = onnx.Shape %x : (tensor<?xf32, #dist.value<dims = [seq]>>) -> !u
  %limit = onnx.Constant {value = dense<[128]> : tensor<1xi64>} : () -> tensor<1xi64>
  %y = onnx.Less %n, %limit : (!u, tensor<1xi64>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @provable(
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<true> : tensor<2xi1>} : () -> tensor<2xi1>
// CHECK-NEXT: return %[[CONSTANT]]
func.func @provable(%x: tensor<?x3xf32, #dist.value<dims = [seq, 3]>>) -> (!u) {
  %n = onnx.Shape %x : (tensor<?x3xf32, #dist.value<dims = [seq, 3]>>) -> !u
  %limit = onnx.Constant {value = dense<[-1,-1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %y = onnx.Less %limit, %n : (tensor<2xi64>, !u) -> !u
  return %y : !u
}
