// Cutting a dim keeps the bytes, even behind a Transpose; merging what a
// Transpose pulled apart takes a copy.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16], sharding = [{}, {}, (4:"tp"=2, 4)]>>
!bshd = tensor<?x?x4x4xf32, #dist.value<dims = [b, s, 4, 4], sharding = [{}, {}, {"tp"=2}, {}]>>
!bhsd = tensor<?x4x?x4xf32, #dist.value<dims = [b, 4, s, 4], sharding = [{}, {"tp"=2}, {}, {}]>>
!merged = tensor<?x?x4xf32, #dist.value<dims = [b, s * 4, 4], sharding = [{}, (4:"tp"=2, s), {}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: rt.program @cut
// CHECK: %[[X:.*]] = rt.input
// CHECK: %[[T:.*]] = rt.view %[[X]] : <f32, [b, 2, s, 4], [s * 8, 4, 8, 1], 0>
// CHECK-NOT: "Copy"
// CHECK: rt.call "Relu"(%[[T]] :
func.func @cut(%x: !x) -> !bhsd {
  %h = onnx.Reshape %x : (!x) -> !bshd
  %t = onnx.Transpose %h {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %y = onnx.Relu %t : (!bhsd) -> !bhsd
  return %y : !bhsd
}

// CHECK-LABEL: rt.program @merge
// CHECK: %[[H:.*]] = rt.input
// CHECK: %[[T:.*]] = rt.view %[[H]] : <f32, [b, 2, s, 4], [s * 8, 4, 8, 1], 0>
// CHECK: %[[COPY:.*]] = rt.alloc
// CHECK-DAG: %[[M:.*]] = rt.view %[[COPY]] : <f32, [b, s * 2, 4], [s * 8, 4, 1], 0>
// CHECK-DAG: %[[TO:.*]] = rt.view %[[COPY]] : <f32, [b, 2, s, 4], [s * 8, s * 4, 4, 1], 0>
// CHECK: rt.call "Copy"(%[[T]] : {{.*}}) into(%[[TO]] :
// CHECK: rt.call "Relu"(%[[M]] :
func.func @merge(%h: !bshd) -> !merged {
  %t = onnx.Transpose %h {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %m = onnx.Reshape %t : (!bhsd) -> !merged
  %y = onnx.Relu %m : (!merged) -> !merged
  return %y : !merged
}
