// Sizes that nothing relates broadcast if one is 1, too: functions beside the one that takes
// them as equal, unless they would have more ops than are allowed.
// RUN: shard-opt %s --shardc-infer-shapes=max-ops=100 | FileCheck %s
// RUN: shard-opt %s --shardc-infer-shapes=max-ops=6 | FileCheck %s --check-prefix=ALONE
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s --check-prefix=ALONE

!u = tensor<*x!onnx.unknown>
!n = tensor<?xf32, #dist.value<dims = [n]>>
!m = tensor<?xf32, #dist.value<dims = [m]>>
!np = tensor<?x?xf32, #dist.value<dims = [n, p]>>
!mq = tensor<?x?xf32, #dist.value<dims = [m, q]>>
!past = tensor<?xf32, #dist.value<dims = [past + n]>>

// CHECK: func.func @vector_broadcast1(%arg0: tensor<1xf32> {onnx.name = "a"}, %arg1: {{.*}}[m]>> {onnx.name = "b"})
// CHECK-SAME: attributes {onnx.when = {a = {dim = 0 : i64, size = 1 : i64}}}
// CHECK-NOT: onnx.Guard
// CHECK: onnx.Add {{.*}}[m]>>
// CHECK: func.func @vector_broadcast2({{.*}}[n]>> {onnx.name = "a"}, %arg1: tensor<1xf32> {onnx.name = "b"})
// CHECK-SAME: attributes {onnx.when = {b = {dim = 0 : i64, size = 1 : i64}}}
// CHECK: onnx.Add {{.*}}[n]>>
// CHECK: func.func @vector({{.*}}[m]>> {onnx.name = "a"}, {{.*}}[m]>> {onnx.name = "b"}) -> {{[^{]*}} {
// CHECK: onnx.Add
// ALONE: func.func @vector(
func.func @vector(%a: !n {onnx.name = "a"}, %b: !m {onnx.name = "b"}) -> !u {
  %y = onnx.Add %a, %b : (!n, !m) -> !u
  return %y : !u
}

// Two conditions come before one. Those of one input are a list.
// CHECK: func.func @matrix_broadcast1(%arg0: tensor<1x1xf32> {{.*}} {onnx.when = {a = [{dim = 0 : i64, size = 1 : i64}, {dim = 1 : i64, size = 1 : i64}]}}
// CHECK: func.func @matrix_broadcast2({{.*}} {onnx.when = {a = {dim = 0 : i64, size = 1 : i64}, b = {dim = 1 : i64, size = 1 : i64}}}
// CHECK: onnx.Add {{.*}}[m, p]>>
// CHECK: func.func @matrix_broadcast8({{.*}} {onnx.when = {b = {dim = 1 : i64, size = 1 : i64}}}
// CHECK-NOT: func.func @matrix_broadcast
// CHECK: func.func @matrix(
// ALONE: func.func @matrix(
func.func @matrix(%a: !np {onnx.name = "a"}, %b: !mq {onnx.name = "b"}) -> !u {
  %y = onnx.Add %a, %b : (!np, !mq) -> !u
  return %y : !u
}

// A sum of sizes is equal to what is as long as it: masks of caches.
// CHECK-NOT: func.func @sum_broadcast
// CHECK: func.func @sum(
// CHECK-NEXT: onnx.Add
// ALONE: func.func @sum(
func.func @sum(%a: !past {onnx.name = "a"}, %b: !m {onnx.name = "b"}, %c: !n {onnx.name = "c"}) -> (!u, !n) {
  %y = onnx.Add %a, %b : (!past, !m) -> !u
  return %y, %c : !u, !n
}

// A size that must be 3 may be 1 as well.
// CHECK: func.func @number_broadcast1(%arg0: tensor<1xf32> {onnx.name = "a"}
// CHECK-SAME: attributes {onnx.when = {a = {dim = 0 : i64, size = 1 : i64}}}
// CHECK: onnx.Add
// CHECK: func.func @number(%arg0: tensor<3xf32> {onnx.name = "a"}
// CHECK-NEXT: onnx.Add
// ALONE: func.func @number(
func.func @number(%a: !n {onnx.name = "a"}, %b: tensor<3xf32> {onnx.name = "b"}) -> !u {
  %y = onnx.Add %a, %b : (!n, tensor<3xf32>) -> !u
  return %y : !u
}
