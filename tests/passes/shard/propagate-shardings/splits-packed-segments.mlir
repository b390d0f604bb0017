// One matrix holds q, k and v, of 6 heads each: it is a list of three segments,
// and each rank holds the same heads of all three. 4 ranks hold 1, 2, 1 and 2.
// RUN: shard-opt %s --shardc-propagate-shardings | FileCheck %s

!x = tensor<?x?x24xf32, #dist.value<dims = [b, s, 24]>>
!qkv = tensor<?x?x72xf32, #dist.value<dims = [b, s, 72]>>
!bshd = tensor<?x?x6x4xf32, #dist.value<dims = [b, s, 6, 4]>>
!bhsd = tensor<?x6x?x4xf32, #dist.value<dims = [b, 6, s, 4]>>
!bhds = tensor<?x6x4x?xf32, #dist.value<dims = [b, 6, 4, s]>>
!scores = tensor<?x6x?x?xf32, #dist.value<dims = [b, 6, s, s]>>

dist.mesh @mesh <["tp"=4]>

func.func @main(%x: !x) -> !x {
  %packed = onnx.Weight {name = "packed", file = "w", offset = 0 : i64, length = 6912 : i64} : () -> tensor<24x72xf32>
  %bias = onnx.Weight {name = "bias", file = "w", offset = 0 : i64, length = 288 : i64} : () -> tensor<72xf32>
  %wo = onnx.Weight {name = "wo", file = "w", offset = 0 : i64, length = 2304 : i64} : () -> tensor<24x24xf32>
  %m = onnx.MatMul %x, %packed : (!x, tensor<24x72xf32>) -> !qkv
  %c = onnx.Add %m, %bias : (!qkv, tensor<72xf32>) -> !qkv
  %q0, %k0, %v0 = onnx.Split %c {axis = 2 : i64} : (!qkv) -> (!x, !x, !x)
  %q1 = onnx.Reshape %q0 : (!x) -> !bshd
  %q = onnx.Transpose %q1 {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %k1 = onnx.Reshape %k0 : (!x) -> !bshd
  %k = onnx.Transpose %k1 {perm = array<i64: 0, 2, 3, 1>} : (!bshd) -> !bhds
  %v1 = onnx.Reshape %v0 : (!x) -> !bshd
  %v = onnx.Transpose %v1 {perm = array<i64: 0, 2, 1, 3>} : (!bshd) -> !bhsd
  %s = onnx.MatMul %q, %k : (!bhsd, !bhds) -> !scores
  %p = onnx.Softmax %s {axis = 3 : i64} : (!scores) -> !scores
  %o0 = onnx.MatMul %p, %v : (!scores, !bhsd) -> !bhsd
  %o1 = onnx.Transpose %o0 {perm = array<i64: 0, 2, 1, 3>} : (!bhsd) -> !bshd
  %o2 = onnx.Reshape %o1 : (!bshd) -> !x
  %y = onnx.MatMul %o2, %wo : (!x, tensor<24x24xf32>) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[PACKED:.*]] = onnx.Weight {{.*}}name = "packed"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, [24: (6:"tp"=4, 4) | 24: (6:"tp"=4, 4) | 24: (6:"tp"=4, 4)]]>>
// CHECK: %[[BIAS:.*]] = onnx.Weight {{.*}}name = "bias"{{.*}} -> tensor<{{[^>]*}}sharding = {{\[\[}}24: (6:"tp"=4, 4) | 24: (6:"tp"=4, 4) | 24: (6:"tp"=4, 4)]]>>
// CHECK: %[[WO:.*]] = onnx.Weight {{.*}}name = "wo"{{.*}} -> tensor<{{[^>]*}}sharding = [(6:"tp"=4, 4), {}]>>
// CHECK: %[[M:.*]] = onnx.MatMul %[[X]], %[[PACKED]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, [24: (6:"tp"=4, 4) | 24: (6:"tp"=4, 4) | 24: (6:"tp"=4, 4)]]>>
// CHECK: %[[C:.*]] = onnx.Add %[[M]], %[[BIAS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, [24: (6:"tp"=4, 4) | 24: (6:"tp"=4, 4) | 24: (6:"tp"=4, 4)]]>>
// CHECK: %[[Q0_K0_V0:.*]]:3 = onnx.Split %[[C]]{{.*}} -> (tensor<{{[^>]*}}sharding = [{}, {}, (6:"tp"=4, 4)]>>, tensor<{{[^>]*}}sharding = [{}, {}, (6:"tp"=4, 4)]>>, tensor<{{[^>]*}}sharding = [{}, {}, (6:"tp"=4, 4)]>>)
// CHECK: %[[Q1:.*]] = onnx.Reshape %[[Q0_K0_V0]]#0{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=4}, {}]>>
// CHECK: %[[S:.*]] = onnx.MatMul %{{.*}}, %{{.*}}{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=4}, {}, {}]>>
// CHECK: %[[Y:.*]] = onnx.MatMul %{{.*}}, %[[WO]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=4: sum}>>
// CHECK: %[[Y_WHOLE:.*]] = dist.reshard %[[Y]] {why = "an output of the model may not be partial"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[Y_WHOLE]]
