// Two operands of eight bits of float are multiplied as bytes, of which one may be
// that of several products. A GPU's weights are arranged once, as its tensor
// cores read them; a zero point makes numbers of one.
// RUN: shard-opt %s --shardc-partition --shardc-lower=target=cuda | FileCheck %s
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s --check-prefix=HOST

!x = tensor<?x128xf8E4M3FN, #dist.value<dims = [seq, 128], sharding = [{}, {"tp"=2}]>>
!n = tensor<?x128xf16, #dist.value<dims = [seq, 128], sharding = [{}, {"tp"=2}]>>
!w = tensor<128x64xf8E4M3FN, #dist.value<dims = [128, 64], sharding = [{"tp"=2}, {}]>>
!v = tensor<128x64xf16, #dist.value<dims = [128, 64], sharding = [{"tp"=2}, {}]>>
!s = tensor<1x1xf16, #dist.value<dims = [1, 1], sharding = [{}, {}]>>
!c = tensor<1x64xf16, #dist.value<dims = [1, 64], sharding = [{}, {}]>>
!z = tensor<1x1xf8E4M3FN, #dist.value<dims = [1, 1], sharding = [{}, {}]>>
!y = tensor<?x64xf16, #dist.value<dims = [seq, 64], sharding = [{}, {}], partial = {"tp"=2: sum}>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x) -> (!y, !y, !y) {
  %s = onnx.Weight {name = "s", file = "m.onnx", offset = 0 : i64, length = 2 : i64} : () -> !s
  %c = onnx.Weight {name = "c", file = "m.onnx", offset = 2 : i64, length = 128 : i64} : () -> !c
  %a = onnx.Weight {name = "a", file = "m.onnx", offset = 256 : i64, length = 8192 : i64} : () -> !w
  %b = onnx.Weight {name = "b", file = "m.onnx", offset = 8448 : i64, length = 8192 : i64} : () -> !w
  %d = onnx.Weight {name = "d", file = "m.onnx", offset = 16640 : i64, length = 8192 : i64} : () -> !w
  %z = onnx.Weight {name = "z", file = "m.onnx", offset = 24832 : i64, length = 1 : i64} : () -> !z
  %n = onnx.DequantizeLinear %x, %s {axis = 0 : i64} : (!x, !s) -> !n
  %0 = onnx.DequantizeLinear %a, %s {axis = 0 : i64} : (!w, !s) -> !v
  %1 = onnx.DequantizeLinear %b, %c {axis = 1 : i64} : (!w, !c) -> !v
  %2 = onnx.MatMul %n, %0 : (!n, !v) -> !y
  %3 = onnx.MatMul %n, %1 : (!n, !v) -> !y
  %m = onnx.DequantizeLinear %x, %s {axis = 0 : i64} : (!x, !s) -> !n
  %4 = onnx.DequantizeLinear %d, %s, %z {axis = 0 : i64} : (!w, !s, !z) -> !v
  %5 = onnx.MatMul %m, %4 : (!n, !v) -> !y
  return %2, %3, %5 : !y, !y, !y
}

// CHECK: rt.call "Copy"({{.*}}<f8E4M3FN, [64, 64], [1, 64], 0{{.*}}) into({{.*}}<f8E4M3FN, [64, 64], [64, 1], 0
// CHECK: rt.call "Copy"
// CHECK-NOT: "Copy"
// CHECK: rt.ready
// CHECK: rt.call "MatMulFloat8"({{.*}}<f8E4M3FN, [seq, 64], [64, 1], 0>, {{.*}}<f8E4M3FN, [64, 64], [1, 64], 0>, {{.*}}<f16, [seq, 64], [0, 0], 0, replicated>, {{.*}}<f16, [64, 64], [0, 0], 0
// CHECK: rt.call "MatMulFloat8"({{.*}}<f16, [64, 64], [0, 1], 0
// CHECK: rt.call "DequantizeLinear"
// CHECK: rt.call "MatMulDequantized"
// CHECK-NOT: "DequantizeLinear"

// HOST-NOT: "Copy"
// HOST: rt.ready
// HOST: rt.call "MatMulFloat8"({{.*}}<f8E4M3FN, [64, 64], [64, 1], 0>
