// Bytes of activations times bytes of weights, each scaled alike along the sum,
// stay integers; a GPU multiplies numbers.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s
// RUN: shard-opt %s --shardc-partition --shardc-lower=target=cuda | FileCheck %s --check-prefix=OTHERS

!x = tensor<?x128xui8, #dist.value<dims = [seq, 128], sharding = [{}, {"tp"=2}]>>
!n = tensor<?x128xf32, #dist.value<dims = [seq, 128], sharding = [{}, {"tp"=2}]>>
!w = tensor<128x64xi8, #dist.value<dims = [128, 64], sharding = [{"tp"=2}, {}]>>
!v = tensor<128x64xf32, #dist.value<dims = [128, 64], sharding = [{"tp"=2}, {}]>>
!s = tensor<1x1xf32, #dist.value<dims = [1, 1], sharding = [{}, {}]>>
!u = tensor<1x1xui8, #dist.value<dims = [1, 1], sharding = [{}, {}]>>
!c = tensor<1x64xf32, #dist.value<dims = [1, 64], sharding = [{}, {}]>>
!z = tensor<1x64xi8, #dist.value<dims = [1, 64], sharding = [{}, {}]>>
!y = tensor<?x64xf32, #dist.value<dims = [seq, 64], sharding = [{}, {}], partial = {"tp"=2: sum}>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x) -> (!y, !y) {
  %s = onnx.Weight {name = "s", file = "m.onnx", offset = 0 : i64, length = 4 : i64} : () -> !s
  %u = onnx.Weight {name = "u", file = "m.onnx", offset = 4 : i64, length = 1 : i64} : () -> !u
  %c = onnx.Weight {name = "c", file = "m.onnx", offset = 8 : i64, length = 256 : i64} : () -> !c
  %z = onnx.Weight {name = "z", file = "m.onnx", offset = 264 : i64, length = 64 : i64} : () -> !z
  %a = onnx.Weight {name = "a", file = "m.onnx", offset = 512 : i64, length = 8192 : i64} : () -> !w
  %b = onnx.Weight {name = "b", file = "m.onnx", offset = 8704 : i64, length = 8192 : i64} : () -> !w
  %n = onnx.DequantizeLinear %x, %s, %u {axis = 0 : i64} : (!x, !s, !u) -> !n
  %0 = onnx.DequantizeLinear %a, %s {axis = 0 : i64} : (!w, !s) -> !v
  %1 = onnx.DequantizeLinear %b, %c, %z {axis = 1 : i64} : (!w, !c, !z) -> !v
  %2 = onnx.MatMul %n, %0 : (!n, !v) -> !y
  %3 = onnx.MatMul %n, %1 : (!n, !v) -> !y
  return %2, %3 : !y, !y
}

// CHECK-LABEL: rt.program @stage0
// CHECK-NOT: "DequantizeLinear"
// CHECK: rt.call "MatMulQuantized"({{.*}}<ui8, [seq, 64], [64, 1], 0>, {{.*}}<i8, [64, 64], [64, 1], 0>, {{.*}}<f32, [seq, 64], [0, 0], 0, replicated>, {{.*}}<f32, [64, 64], [0, 0], 0, replicated>, {{.*}}<ui8, [seq, 64], [0, 0], 0, replicated>
// CHECK-NOT: "DequantizeLinear"
// CHECK: rt.call "MatMulQuantized"({{.*}}<i8, [64, 64], [0, 1], 0, replicated>)
// OTHERS-NOT: "MatMulQuantized"
