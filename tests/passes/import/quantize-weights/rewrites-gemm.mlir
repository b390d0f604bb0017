// Kernels of quantised weights are those of MatMul: a Gemm becomes one, with what it multiplies and adds. Of fp8 each result has a
// scale; bf16 stays as it lies.
// RUN: shard-opt %s --shardc-quantize-weights=type=fp8 | FileCheck %s
// RUN: shard-opt %s --shardc-quantize-weights=type=bf16 | FileCheck %s --check-prefix=BF16
// RUN: shard-opt %s --shardc-quantize-weights="type=bf16 casts" | FileCheck %s --check-prefix=CAST

!x = tensor<64x?xf32, #dist.value<dims = [64, s]>>
!y = tensor<?x96xf32, #dist.value<dims = [s, 96]>>

// CHECK-LABEL: func.func @main(
// CHECK-DAG: %[[D:.*]] = onnx.DequantizeLinear {{.*}} : (tensor<96x64xf8E4M3FN>, tensor<96x1xf32>)
// CHECK-DAG: %[[W:.*]] = onnx.Transpose %[[D]]
// CHECK-DAG: %[[X:.*]] = onnx.Transpose %arg0
// CHECK: %[[P:.*]] = onnx.MatMul %[[X]], %[[W]]
// CHECK-DAG: %[[A:.*]] = onnx.Constant {value = dense<5.000000e-01>
// CHECK: %[[AP:.*]] = onnx.Mul %[[P]], %[[A]]
// CHECK: %[[BC:.*]] = onnx.Mul
// CHECK: onnx.Add %[[AP]], %[[BC]]
// CHECK-NOT: onnx.Gemm
// BF16: %[[Q:.*]] = onnx.Weight {file = "//quantized.bin", {{.*}} name = "w.bf16", {{.*}} : () -> tensor<96x64xbf16>
// BF16: %[[ONE:.*]] = onnx.Constant {value = dense<1.000000e+00> : tensor<1x1xf32>}
// BF16: onnx.DequantizeLinear %[[Q]], %[[ONE]] : (tensor<96x64xbf16>, tensor<1x1xf32>) -> tensor<96x64xf32>
// CAST: onnx.Cast %{{.*}} : (tensor<96x64xbf16>) -> tensor<96x64xf32>
func.func @main(%x: !x {onnx.name = "x"}) -> (!y {onnx.name = "y"}) {
  %w = onnx.Weight {file = "m.data", length = 24576 : i64, name = "w", offset = 0 : i64} : () -> tensor<96x64xf32>
  %c = onnx.Weight {file = "m.data", length = 384 : i64, name = "c", offset = 24576 : i64} : () -> tensor<96xf32>
  %y = onnx.Gemm %x, %w, %c {alpha = 0.5 : f32, beta = 2.0 : f32, transA = 1 : i64, transB = 1 : i64} : (!x, tensor<96x64xf32>, tensor<96xf32>) -> !y
  return %y : !y
}
