// A read of sizes that are known without it checks them: of an input in the first stage, else in the last one.
// RUN: shard-opt %s --shardc-fingerprint --shardc-propagate-shardings --shardc-cut-stages --shardc-verify-phase="phase=staged" | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [n, 16]>>
!count = tensor<i64, #dist.value<dims = []>>
dist.mesh @mesh <["pp"=2]>

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[COUNT:[a-z0-9]*]]: tensor<i64
// CHECK: onnx.ReadSizes %[[COUNT]] {sizes = #dist.dims<[n]>}
// CHECK-NOT: onnx.ReadSizes
// CHECK: dist.send
// CHECK-NOT: onnx.ReadSizes
// CHECK-LABEL: func.func @stage1(
// CHECK: %[[NEXT:.*]] = onnx.Add
// CHECK: onnx.ReadSizes %[[NEXT]] {sizes = #dist.dims<[n + 1]>}
func.func @main(%x: !x {onnx.name = "x"}, %count: !count {onnx.name = "count"}) -> !x {
  onnx.ReadSizes %count {sizes = #dist.dims<[n]>} : !count
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> !count
  %next = onnx.Add %count, %one : (!count, !count) -> !count
  onnx.ReadSizes %next {sizes = #dist.dims<[n + 1]>} : !count
  %a = onnx.Weight {name = "a", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %b = onnx.Weight {name = "b", file = "w", offset = 1024 : i64, length = 1024 : i64} : () -> tensor<16x16xf32>
  %0 = onnx.MatMul %x, %a : (!x, tensor<16x16xf32>) -> !x
  %1 = onnx.MatMul %0, %b : (!x, tensor<16x16xf32>) -> !x
  return %1 : !x
}
