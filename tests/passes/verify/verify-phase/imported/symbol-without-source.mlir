// RUN: not shard-opt %s --shardc-verify-phase="phase=imported allows-unrecorded=true" 2>&1 | FileCheck %s

// CHECK: needs the size "m", which no input has and nothing before it reads
func.func @main(%x: tensor<?xi1, #dist.value<dims = [n]>>) -> tensor<1x?xi64, #dist.value<dims = [1, m]>> {
  %y = onnx.NonZero %x : (tensor<?xi1, #dist.value<dims = [n]>>) -> tensor<1x?xi64, #dist.value<dims = [1, m]>>
  return %y : tensor<1x?xi64, #dist.value<dims = [1, m]>>
}
