// What replaces an op is compared with the op's definition: what is broken is an error at the
// node, and what is not evaluated a remark.
// RUN: not shard-opt %s --shardc-infer-shapes --shardc-test-break-recovery=microsoft.BiasGelu 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: shard-opt %s --shardc-infer-shapes 2>&1 | FileCheck %s

!u = tensor<*x!onnx.unknown>

// BROKEN: loc("layer.0/gelu"): {{.*}}'onnx.microsoft.BiasGelu' op would be replaced by ops that compute something else, as its output 0 shows
// BROKEN: note: {{.*}}with s = {{.*}}, element [{{.*}}] is {{[-0-9.e]+}} by the op's definition, {{[-0-9.e]+}} by the ops that replace it
// BROKEN: note: {{.*}}this is an error in shardc

// CHECK-NOT: BiasGelu was not compared
// CHECK: remark: loc("pool"): microsoft.QLinearAveragePool was not compared with its definition: not all of that can be evaluated on small sizes
func.func @main(%x: tensor<?x8xf32, #dist.value<dims = [s, 8]>>, %bias: tensor<8xf32>, %image: tensor<1x2x6x6xui8>) -> (!u, !u) {
  %y = onnx.microsoft.BiasGelu %x, %bias : (tensor<?x8xf32, #dist.value<dims = [s, 8]>>, tensor<8xf32>) -> !u loc("layer.0/gelu")
  %scale = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %zero = onnx.Constant {value = dense<3> : tensor<ui8>} : () -> tensor<ui8>
  %p = onnx.microsoft.QLinearAveragePool %image, %scale, %zero, %scale, %zero {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, ceil_mode = 1 : i64} : (tensor<1x2x6x6xui8>, tensor<f32>, tensor<ui8>, tensor<f32>, tensor<ui8>) -> !u loc("pool")
  return %y, %p : !u, !u
}
