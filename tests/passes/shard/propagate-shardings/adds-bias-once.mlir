// Gemm's addend: split with the columns; behind a split sum, one rank adds it.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

dist.mesh @mesh <["tp"=2]>

func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<16x32xf32>
  %upb = onnx.Weight {name = "upb", file = "w", offset = 0 : i64, length = 128 : i64} : () -> tensor<32xf32>
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 2048 : i64} : () -> tensor<32x16xf32>
  %downb = onnx.Weight {name = "downb", file = "w", offset = 0 : i64, length = 64 : i64} : () -> tensor<16xf32>
  %u = onnx.Gemm %x, %up, %upb : (tensor<8x16xf32>, tensor<16x32xf32>, tensor<32xf32>) -> tensor<8x32xf32>
  %a = onnx.Relu %u : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %d = onnx.Gemm %a, %down, %downb : (tensor<8x32xf32>, tensor<32x16xf32>, tensor<16xf32>) -> tensor<8x16xf32>
  return %d : tensor<8x16xf32>
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK: %[[UP:.*]] = onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[UPB:.*]] = onnx.Weight {{.*}}name = "upb"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2}]>>
// CHECK: %[[DOWN:.*]] = onnx.Weight {{.*}}name = "down"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2}, {}]>>
// CHECK: %[[DOWNB:.*]] = onnx.Weight {{.*}}name = "downb"{{.*}} -> tensor<{{[^>]*}}sharding = [{}]>>
// CHECK: %[[DOWNB_ONCE:.*]] = dist.reshard %[[DOWNB]]{{.*}} to tensor<{{[^>]*}}sharding = [{}], partial = {"tp"=2: sum}>>
// CHECK: %[[U:.*]] = onnx.Gemm %[[X]], %[[UP]], %[[UPB]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[A:.*]] = onnx.Relu %[[U]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[D:.*]] = onnx.Gemm %[[A]], %[[DOWN]], %[[DOWNB_ONCE]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[D_WHOLE:.*]] = dist.reshard %[[D]] {why = "an output of the model may not be partial"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}]>>
// CHECK: return %[[D_WHOLE]]
