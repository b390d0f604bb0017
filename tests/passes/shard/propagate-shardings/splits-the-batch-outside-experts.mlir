// Outside of a mixture "ep" is more tensor parallelism, or splits the batch: then no
// matrix is split, nothing is summed, and the tokens go to their experts and back.
// RUN: shard-opt %s --shardc-propagate-shardings=expert-mode=batch | FileCheck %s --check-prefix=BATCH
// RUN: shard-opt %s --shardc-propagate-shardings=expert-mode=tensor | FileCheck %s --check-prefix=TENSOR
//
// How many rows a batch has decides which is cheaper.
// RUN: shard-opt %s --shardc-propagate-shardings 2>&1 | FileCheck %s --check-prefixes=TENSOR,UNKNOWN
// RUN: shard-opt %s --shardc-propagate-shardings=plan-sizes=batch=64,seq=2048 2>&1 | FileCheck %s --check-prefixes=BATCH,MANY
// RUN: shard-opt %s --shardc-propagate-shardings=plan-sizes=batch=1,seq=2048 2>&1 | FileCheck %s --check-prefixes=TENSOR,ONE
// RUN: not shard-opt %s --shardc-propagate-shardings=expert-mode=star 2>&1 | FileCheck %s --check-prefix=BAD-MODE
// RUN: not shard-opt %s --shardc-propagate-shardings=plan-sizes=batch=many 2>&1 | FileCheck %s --check-prefix=BAD-SIZE

// UNKNOWN: remark: outside of experts "ep" is tensor parallelism: how many rows a batch has is not known
// MANY: remark: outside of experts "ep" splits the batch: 0.{{[0-9]+}} of the predicted time of more tensor parallelism
// ONE: remark: outside of experts "ep" is tensor parallelism: 0.{{[0-9]+}} of the predicted time of splitting the batch
// BAD-MODE: expert-mode is "star", expected auto, tensor or batch
// BAD-SIZE: plan-sizes has "batch=many", expected NAME=SIZE

!x = tensor<?x?x1024xf32, #dist.value<dims = [batch, seq, 1024]>>
!h = tensor<?x?x4096xf32, #dist.value<dims = [batch, seq, 4096]>>
!rows = tensor<?x1024xf32, #dist.value<dims = [batch * seq, 1024]>>
!chosen = tensor<?x2xi64, #dist.value<dims = [batch * seq, 2]>>
!shares = tensor<?x2xf32, #dist.value<dims = [batch * seq, 2]>>
!scores = tensor<?x4xf32, #dist.value<dims = [batch * seq, 4]>>
!experts = tensor<4x1024x512xf32, #dist.value<dims = [4, 1024, 512]>>
!back = tensor<4x512x1024xf32, #dist.value<dims = [4, 512, 1024]>>
dist.mesh @mesh <["ep"=2]>

// BATCH: module attributes {dist.matrix_axes = #dist.axes<[]>}
// BATCH: func.func @main(%{{[^:]*}}: tensor<{{[^>]*}}sharding = [{"ep"=2}, {}, {}]>>)
// BATCH: onnx.Weight {{.*}}name = "wide"{{.*}}sharding = [{}, {}]>>
// BATCH: onnx.Weight {{.*}}name = "up"{{.*}}sharding = [{"ep"=2}, {}, {}]>>
// BATCH: onnx.MatMul {{.*}}sharding = [{"ep"=2}, {}, {}]>>
// BATCH: onnx.TopK {{.*}}sharding = [(batch:"ep"=2, seq), {}]>>
// BATCH: onnx.MixtureOfExperts {{.*}}partial = {"ep"=2: sum}>>
// BATCH: dist.reshard {{.*}}partial = {"ep"=2: sum}>> to {{.*}}sharding = [(batch:"ep"=2, seq), {}]>>
// BATCH: return %{{.*}} : tensor<{{[^>]*}}sharding = [{"ep"=2}, {}, {}]>>

// TENSOR: module attributes {dist.matrix_axes = #dist.axes<["ep"=2]>}
// TENSOR: func.func @main(%{{[^:]*}}: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>)
// TENSOR: onnx.Weight {{.*}}name = "wide"{{.*}}sharding = [{}, {"ep"=2}]>>
// TENSOR: onnx.Weight {{.*}}name = "up"{{.*}}sharding = [{"ep"=2}, {}, {}]>>
// TENSOR: onnx.MixtureOfExperts {{.*}}partial = {"ep"=2: sum}>>
func.func @main(%x: !x) -> !x {
  %wide = onnx.Weight {name = "wide", file = "w", offset = 0 : i64, length = 16777216 : i64} : () -> tensor<1024x4096xf32>
  %narrow = onnx.Weight {name = "narrow", file = "w", offset = 0 : i64, length = 16777216 : i64} : () -> tensor<4096x1024xf32>
  %router = onnx.Weight {name = "router", file = "w", offset = 0 : i64, length = 16384 : i64} : () -> tensor<1024x4xf32>
  %up = onnx.Weight {name = "up", file = "w", offset = 0 : i64, length = 8388608 : i64} : () -> !experts
  %down = onnx.Weight {name = "down", file = "w", offset = 0 : i64, length = 8388608 : i64} : () -> !back
  %u = onnx.MatMul %x, %wide : (!x, tensor<1024x4096xf32>) -> !h
  %a = onnx.Relu %u : (!h) -> !h
  %d = onnx.MatMul %a, %narrow : (!h, tensor<4096x1024xf32>) -> !x
  %r = onnx.Add %x, %d : (!x, !x) -> !x
  %rows = onnx.Reshape %r : (!x) -> !rows
  %scores = onnx.MatMul %rows, %router : (!rows, tensor<1024x4xf32>) -> !scores
  %shares, %chosen = onnx.TopK %scores {axis = 1 : i64, k = 2 : i64} : (!scores) -> (!shares, !chosen)
  %m = onnx.MixtureOfExperts %rows, %chosen, %shares, %up, %down : (!rows, !chosen, !shares, !experts, !back) -> !rows
  %y = onnx.Reshape %m : (!rows) -> !x
  %s = onnx.Add %r, %y : (!x, !x) -> !x
  return %s : !x
}
