// 4 heads on 6 ranks, and no factor inside a head may take the rest.
// RUN: shard-opt %s --shardc-propagate-shardings --verify-diagnostics | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!bshd = tensor<?x?x4x4xf32, #dist.value<dims = [b, s, 4, 4]>>
!w = tensor<16x16xf32>

dist.mesh @mesh <["tp"=6]>

func.func @main(%x: !x) -> !x {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  // expected-warning@+1 {{2 of 6 ranks of "tp" are left idle by 1 factor with fewer elements than ranks, first here}}
  %u = onnx.MatMul %x, %up : (!x, !w) -> !x
  %h = onnx.Reshape %u : (!x) -> !bshd
  %a = onnx.Softmax %h {axis = 3 : i64} : (!bshd) -> !bshd
  %f = onnx.Reshape %a : (!bshd) -> !x
  %d = onnx.MatMul %f, %down : (!x, !w) -> !x
  return %d : !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[UP:.*]] = onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=6, 4)]>>
// CHECK: %[[DOWN:.*]] = onnx.Weight {{.*}}name = "down"{{.*}} -> tensor<{{[^>]*}}sharding = [(4:"tp"=6, 4), {}]>>
// CHECK: %[[U:.*]] = onnx.MatMul %[[X]], %[[UP]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, (4:"tp"=6, 4)]>>
// CHECK: %[[VALUE_WHOLE:.*]] = dist.reshard %{{.*}} {why = "an output of the model may not be partial"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[VALUE_WHOLE]]
