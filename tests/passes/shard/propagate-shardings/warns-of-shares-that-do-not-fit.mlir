// 2 heads in shares of 3 and 1 are one each; in shares of 9 and 1 one rank has
// none of 4.
// RUN: shard-opt %s --split-input-file --shardc-propagate-shardings --verify-diagnostics | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!bshd = tensor<?x?x2x8xf32, #dist.value<dims = [b, s, 2, 8]>>
!w = tensor<16x16xf32>

dist.mesh @mesh <["tp"=2:[3, 1]]>

func.func @main(%x: !x) -> !x {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  // expected-warning@+1 {{a rank of "tp" has 2.0 times its share of a factor of 2 elements; use shares whose sum divides them}}
  %u = onnx.MatMul %x, %up : (!x, !w) -> !x
  %h = onnx.Reshape %u : (!x) -> !bshd
  %a = onnx.Softmax %h {axis = 3 : i64} : (!bshd) -> !bshd
  %f = onnx.Reshape %a : (!bshd) -> !x
  %d = onnx.MatMul %f, %down : (!x, !w) -> !x
  return %d : !x
}

// CHECK: onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 8)]>>

// -----

!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>
!bshd = tensor<?x?x4x4xf32, #dist.value<dims = [b, s, 4, 4]>>
!w = tensor<16x16xf32>

dist.mesh @mesh <["tp"=2:[1, 9]]>

func.func @main(%x: !x) -> !x {
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 1024 : i64} : () -> !w
  // expected-warning@+1 {{1 of 2 ranks of "tp" are left idle by 1 factor with too few elements for their shares, first here}}
  %u = onnx.MatMul %x, %up : (!x, !w) -> !x
  %h = onnx.Reshape %u : (!x) -> !bshd
  %a = onnx.Softmax %h {axis = 3 : i64} : (!bshd) -> !bshd
  %f = onnx.Reshape %a : (!bshd) -> !x
  %d = onnx.MatMul %f, %down : (!x, !w) -> !x
  return %d : !x
}

// CHECK: onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (4:"tp"=2, 4)]>>
