// A token's choices are added up in their order, by one op; a second run changes nothing.
// RUN: shard-opt %s --shardc-keep-choices-apart --shardc-keep-choices-apart | FileCheck %s

!x = tensor<?x8xf32, #dist.value<dims = [n, 8]>>
!i = tensor<?x2xi64, #dist.value<dims = [n, 2]>>
!w = tensor<?x2xf32, #dist.value<dims = [n, 2]>>
!y = tensor<?x6xf32, #dist.value<dims = [n, 6]>>

// CHECK-LABEL: func.func @main(
// CHECK: [[CHOICES:%.+]] = onnx.MixtureOfExperts {{.*}}keeps_choices{{.*}} -> tensor<?x2x6xf32, #dist.value<dims = [n, 2, 6]>>
// CHECK-NEXT: [[SUM:%.+]] = onnx.ReduceSum [[CHOICES]] {axes = array<i64: 1>, {{.*}} -> tensor<?x6xf32, #dist.value<dims = [n, 6]>>
// CHECK-NEXT: return [[SUM]]
func.func @main(%x: !x {onnx.name = "x"}, %i: !i {onnx.name = "i"}, %w: !w {onnx.name = "w"}, %up: tensor<4x8x5xf32> {onnx.name = "up"}, %down: tensor<4x5x6xf32> {onnx.name = "down"}) -> (!y {onnx.name = "y"}) {
  %y = onnx.MixtureOfExperts %x, %i, %w, %up, %down : (!x, !i, !w, tensor<4x8x5xf32>, tensor<4x5x6xf32>) -> !y
  return %y : !y
}
