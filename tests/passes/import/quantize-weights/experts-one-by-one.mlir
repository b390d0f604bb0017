// Matrices of experts that were put together become one weight, in which they lie one after the other: gate and up of the
// first expert, zeros of the second, which has none, and those of the third, one of which was turned; `down` is turned as a whole. Rounded ones are put
// together as the others were.
// RUN: shard-opt %s --split-input-file --shardc-quantize-weights=type=int8 | FileCheck %s
// RUN: shard-opt %s --split-input-file --shardc-quantize-weights=type=bf16 | FileCheck %s --check-prefix=ROUNDED

!x = tensor<?x64xf32, #dist.value<dims = [s, 64]>>
!i = tensor<?x2xi64, #dist.value<dims = [s, 2]>>
!w = tensor<?x2xf32, #dist.value<dims = [s, 2]>>

// CHECK: onnx.quantized = [{data = 0 : i64, dims = array<i64: 1, 32, 64>, {{.*}} name = "g0", offset = 0 : i64, scales = 12288 : i64, stored = i8, transposed = false}
// CHECK-SAME: {data = 2048 : i64, {{.*}} name = "u0", offset = 8192 : i64, scales = 12544 : i64
// CHECK-SAME: {data = 4096 : i64, dims = array<i64: 1, 64, 64>, {{.*}} file = "", {{.*}} length = 0 : i64, name = "", {{.*}} scales = 12800 : i64
// CHECK-SAME: {data = 8192 : i64, {{.*}} name = "g2", {{.*}} scales = 13312 : i64, stored = i8, transposed = true}
// CHECK-SAME: {data = 10240 : i64, {{.*}} name = "u2", {{.*}} scales = 13568 : i64
// CHECK-SAME: {data = 13824 : i64, dims = array<i64: 1, 64, 32>, {{.*}} name = "d0", {{.*}} transposed = true}
// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[Q:.*]] = onnx.Weight {file = "//quantized.bin", length = 12288 : i64, name = "g0.experts.int8", offset = 0 : i64} : () -> tensor<3x64x64xi8>
// CHECK-DAG: %[[S:.*]] = onnx.Weight {file = "//quantized.bin", length = 1536 : i64, name = "g0.experts.scales", offset = 12288 : i64} : () -> tensor<3x64x2xf32>
// CHECK: %[[D:.*]] = onnx.DequantizeLinear %[[Q]], %[[S]] {axis = 2 : i64, block_size = 32 : i64} : (tensor<3x64x64xi8>, tensor<3x64x2xf32>) -> tensor<3x64x64xf32>
// CHECK: %[[UP:.*]] = onnx.Transpose %[[D]] {perm = array<i64: 0, 2, 1>}
// CHECK-NOT: onnx.Concat
// CHECK: onnx.DequantizeLinear {{.*}} : (tensor<3x64x32xi8>, tensor<3x64x1xf32>) -> tensor<3x64x32xf32>
// CHECK: onnx.MixtureOfExperts %{{.*}}, %{{.*}}, %{{.*}}, %[[UP]], %{{.*}} {gate = "halves"}
// ROUNDED: %[[G:.*]] = onnx.Weight {file = "//quantized.bin", {{.*}} name = "g0.bf16", {{.*}} -> tensor<64x32xbf16>
// ROUNDED: %[[GU:.*]] = onnx.Concat %[[G]], %{{.*}} {axis = 1 : i64} : (tensor<64x32xbf16>, tensor<64x32xbf16>) -> tensor<64x64xbf16>
// ROUNDED: onnx.Reshape %[[GU]] : (tensor<64x64xbf16>) -> tensor<1x64x64xbf16>
// ROUNDED: onnx.Expand %{{.*}} : (tensor<bf16>) -> tensor<1x64x64xbf16>
// ROUNDED: onnx.Transpose %{{.*}} : (tensor<32x64xbf16>) -> tensor<64x32xbf16>
// ROUNDED: %[[ALL:.*]] = onnx.Concat {{.*}} -> tensor<3x64x64xbf16>
// ROUNDED: onnx.DequantizeLinear %[[ALL]], %{{.*}} -> tensor<3x64x64xf32>
func.func @main(%x: !x {onnx.name = "x"}, %i: !i {onnx.name = "i"}, %w: !w {onnx.name = "w"}) -> (!x {onnx.name = "y"}) {
  %g0 = onnx.Weight {file = "m.data", length = 8192 : i64, name = "g0", offset = 0 : i64} : () -> tensor<64x32xf32>
  %u0 = onnx.Weight {file = "m.data", length = 8192 : i64, name = "u0", offset = 8192 : i64} : () -> tensor<64x32xf32>
  %g2 = onnx.Weight {file = "m.data", length = 8192 : i64, name = "g2", offset = 16384 : i64} : () -> tensor<32x64xf32>
  %u2 = onnx.Weight {file = "m.data", length = 8192 : i64, name = "u2", offset = 24576 : i64} : () -> tensor<64x32xf32>
  %d0 = onnx.Weight {file = "m.data", length = 8192 : i64, name = "d0", offset = 32768 : i64} : () -> tensor<1x64x32xf32>
  %d1 = onnx.Weight {file = "m.data", length = 8192 : i64, name = "d1", offset = 40960 : i64} : () -> tensor<1x64x32xf32>
  %d2 = onnx.Weight {file = "m.data", length = 8192 : i64, name = "d2", offset = 49152 : i64} : () -> tensor<1x64x32xf32>
  %downs = onnx.Concat %d0, %d1, %d2 {axis = 0 : i64} : (tensor<1x64x32xf32>, tensor<1x64x32xf32>, tensor<1x64x32xf32>) -> tensor<3x64x32xf32>
  %down = onnx.Transpose %downs {perm = array<i64: 0, 2, 1>} : (tensor<3x64x32xf32>) -> tensor<3x32x64xf32>
  %turned = onnx.Transpose %g2 {perm = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %first = onnx.Concat %g0, %u0 {axis = 1 : i64} : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x64xf32>
  %third = onnx.Concat %turned, %u2 {axis = 1 : i64} : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x64xf32>
  %zero = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %a = onnx.Reshape %first : (tensor<64x64xf32>) -> tensor<1x64x64xf32>
  %b = onnx.Expand %zero : (tensor<f32>) -> tensor<1x64x64xf32>
  %c = onnx.Reshape %third : (tensor<64x64xf32>) -> tensor<1x64x64xf32>
  %up = onnx.Concat %a, %b, %c {axis = 0 : i64} : (tensor<1x64x64xf32>, tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<3x64x64xf32>
  %y = onnx.MixtureOfExperts %x, %i, %w, %up, %down {gate = "halves"} : (!x, !i, !w, tensor<3x64x64xf32>, tensor<3x32x64xf32>) -> !x
  return %y : !x
}
