// A cache that would be joined otherwise is joined as the model spells it.
// RUN: shard-opt %s --shardc-recover-caches --shardc-narrow-caches --shardc-test-break-recovery="the join of a cache" 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=SAYS < %t

// Past and what is behind it are as long as each other, so they can change places.
// CHECK-LABEL: @join(
// CHECK: %[[ALL:.*]] = onnx.Concat {{.*}} -> tensor<1x2x?x4xf32
// CHECK: onnx.Cast %[[ALL]]
// SAYS: warning: loc("layer.0/present"): the join of a cache is left as it is spelt
// SAYS-NEXT: note: loc("layer.0/present"): with {{.*}}, element [{{.*}}] is
!past = tensor<1x2x?x4xbf16, #dist.value<dims = [1, 2, s, 4]>>
!inner = tensor<1x2x?x4xf32, #dist.value<dims = [1, 2, s, 4]>>
!all = tensor<1x2x?x4xf32, #dist.value<dims = [1, 2, 2 * s, 4]>>
!present = tensor<1x2x?x4xbf16, #dist.value<dims = [1, 2, 2 * s, 4]>>
func.func @join(%past: !past, %x: !inner) -> (!present, !all) {
  %inner = onnx.Cast %past : (!past) -> !inner
  %all = onnx.Concat %inner, %x {axis = 2 : i64} : (!inner, !inner) -> !all
  %present = onnx.Cast %all : (!all) -> !present loc("layer.0/present")
  %y = onnx.Relu %all : (!all) -> !all
  return %present, %y : !present, !all
}
