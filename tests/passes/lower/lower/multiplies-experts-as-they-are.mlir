// Numbers of an expert's weights exist in its kernel alone; blocks of the
// second product are split with its rows.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s -DBYTE=ui8
// RUN: sed 's/ui8/f8E4M3FN/' %s | shard-opt --shardc-partition --shardc-lower | FileCheck %s -DBYTE=f8E4M3FN

!x = tensor<?x32xf32, #dist.value<dims = [n, 32], sharding = [{}, {}]>>
!i = tensor<?x2xi64, #dist.value<dims = [n, 2], sharding = [{}, {}]>>
!p = tensor<?x2xf32, #dist.value<dims = [n, 2], sharding = [{}, {}]>>
!wu = tensor<4x64x32xui8, #dist.value<dims = [4, 64, 32], sharding = [{}, {"tp"=2}, {}]>>
!su = tensor<4x64x1xf32, #dist.value<dims = [4, 64, 1], sharding = [{}, {"tp"=2}, {}]>>
!nu = tensor<4x64x32xf32, #dist.value<dims = [4, 64, 32], sharding = [{}, {"tp"=2}, {}]>>
!tu = tensor<4x32x64xf32, #dist.value<dims = [4, 32, 64], sharding = [{}, {}, {"tp"=2}]>>
!wd = tensor<4x32x64xui8, #dist.value<dims = [4, 32, 64], sharding = [{}, {}, {"tp"=2}]>>
!sd = tensor<4x32x4xf32, #dist.value<dims = [4, 32, 4], sharding = [{}, {}, {"tp"=2}]>>
!nd = tensor<4x32x64xf32, #dist.value<dims = [4, 32, 64], sharding = [{}, {}, {"tp"=2}]>>
!td = tensor<4x64x32xf32, #dist.value<dims = [4, 64, 32], sharding = [{}, {"tp"=2}, {}]>>
!y = tensor<?x32xf32, #dist.value<dims = [n, 32], sharding = [{}, {}], partial = {"tp"=2: sum}>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x, %i: !i, %p: !p) -> !x {
  %wu = onnx.Weight {name = "wu", file = "m.onnx", offset = 0 : i64, length = 8192 : i64} : () -> !wu
  %su = onnx.Weight {name = "su", file = "m.onnx", offset = 8192 : i64, length = 1024 : i64} : () -> !su
  %wd = onnx.Weight {name = "wd", file = "m.onnx", offset = 9216 : i64, length = 8192 : i64} : () -> !wd
  %sd = onnx.Weight {name = "sd", file = "m.onnx", offset = 17408 : i64, length = 2048 : i64} : () -> !sd
  %nu = onnx.DequantizeLinear %wu, %su {axis = 2 : i64} : (!wu, !su) -> !nu
  %tu = onnx.Transpose %nu {perm = array<i64: 0, 2, 1>} : (!nu) -> !tu
  %nd = onnx.DequantizeLinear %wd, %sd {axis = 2 : i64, block_size = 16 : i64} : (!wd, !sd) -> !nd
  %td = onnx.Transpose %nd {perm = array<i64: 0, 2, 1>} : (!nd) -> !td
  %y = onnx.MixtureOfExperts %x, %i, %p, %tu, %td {activation = "relu"} : (!x, !i, !p, !tu, !td) -> !y
  %z = dist.reshard %y : !y to !x
  return %z : !x
}

// CHECK: rt.ready
// CHECK-NOT: DequantizeLinear
// CHECK: rt.call "MixtureOfExperts"
// CHECK-SAME: <[[BYTE]], [4, 32, 32]
// CHECK-SAME: <[[BYTE]], [4, 32, 32]
// CHECK-SAME: {activation = "relu", {{.*}}down_axis = array<i64: 1>, down_block_size = #dist.dims<[16]>
// CHECK-NOT: DequantizeLinear
// CHECK: func.func @stage0.partitioned
