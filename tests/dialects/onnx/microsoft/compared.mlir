// What replaces an op is compared with the op's definition: what is broken is an error at the
// node, and what is not evaluated a remark.
// RUN: not shard-opt %s --shardc-infer-shapes --shardc-test-break-recovery=microsoft.BiasGelu 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: shard-opt %s --shardc-infer-shapes 2>&1 | FileCheck %s

!u = tensor<*x!onnx.unknown>

// BROKEN: loc("layer.0/gelu"): {{.*}}'onnx.microsoft.BiasGelu' op would be replaced by ops that compute something else, as its output 0 shows
// BROKEN: note: {{.*}}with s = {{.*}}, element [{{.*}}] is {{[-0-9.e]+}} by the op's definition, {{[-0-9.e]+}} by the ops that replace it
// BROKEN: note: {{.*}}this is an error in shardc

// Such sizes cannot be made smaller alike, and are too many elements as they are.
// CHECK-NOT: BiasGelu was not compared
// CHECK: remark: loc("large"): microsoft.QuickGelu was not compared with its definition: not all of that can be evaluated on small sizes
func.func @main(%x: tensor<?x8xf32, #dist.value<dims = [s, 8]>>, %bias: tensor<8xf32>, %large: tensor<5x6x7x8x9x10x11x12xf32>) -> (!u, !u) {
  %y = onnx.microsoft.BiasGelu %x, %bias : (tensor<?x8xf32, #dist.value<dims = [s, 8]>>, tensor<8xf32>) -> !u loc("layer.0/gelu")
  %z = onnx.microsoft.QuickGelu %large : (tensor<5x6x7x8x9x10x11x12xf32>) -> !u loc("large")
  return %y, %z : !u, !u
}
