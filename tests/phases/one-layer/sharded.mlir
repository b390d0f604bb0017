// The layer of imported.mlir, split for two ranks. Every type now says which part
// of the value a rank holds; where two ops want it differently stands a
// dist.reshard, with the reason. There are three: what Megatron's layout costs.
// Nobody named the layout, it follows from the ops' rules and from sizes.
//
// RUN: shard-opt %S/imported.mlir --shardc-propagate-shardings --shardc-verify-phase="phase=sharded allows-unrecorded=true" | FileCheck %s

// Token ids go to every rank.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}]>>

// Weights are references, so splitting one is a matter of its type. The embedding
// is split by the hidden size: gathering moves less than summing would.
// CHECK: %[[EMBED:.*]] = onnx.Weight {{.*}}name = "embed"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[NORM1:.*]] = onnx.Weight {{.*}}name = "norm1"{{.*}} -> tensor<{{[^>]*}}sharding = [{}]>>

// (2:"tp"=2, 8) is a product of two factors: 2 KV heads, each with 2 query heads
// of size 4. A rank holds one KV head and the query heads that use it.
// CHECK: %[[WQ:.*]] = onnx.Weight {{.*}}name = "wq"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 8)]>>
// CHECK: %[[WK:.*]] = onnx.Weight {{.*}}name = "wk"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 4)]>>
// CHECK: %[[WV:.*]] = onnx.Weight {{.*}}name = "wv"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 4)]>>
// CHECK: %[[WO:.*]] = onnx.Weight {{.*}}name = "wo"{{.*}} -> tensor<{{[^>]*}}sharding = [(2:"tp"=2, 8), {}]>>
// CHECK: %[[NORM2:.*]] = onnx.Weight {{.*}}name = "norm2"{{.*}} -> tensor<{{[^>]*}}sharding = [{}]>>

// Columns of gate and up, rows of down: the MLP needs no exchange inside.
// CHECK: %[[GATE:.*]] = onnx.Weight {{.*}}name = "gate"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[UP:.*]] = onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>
// CHECK: %[[DOWN:.*]] = onnx.Weight {{.*}}name = "down"{{.*}} -> tensor<{{[^>]*}}sharding = [{"tp"=2}, {}]>>
// CHECK: %[[NORM3:.*]] = onnx.Weight {{.*}}name = "norm3"{{.*}} -> tensor<{{[^>]*}}sharding = [{}]>>

// Each rank computes half of the vocabulary; logits are never put together.
// CHECK: %[[HEAD:.*]] = onnx.Weight {{.*}}name = "head"{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}]>>

// First exchange: a norm looks at the whole hidden size.
// CHECK: %[[X:.*]] = onnx.Gather %[[EMBED]], %[[IDS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[X_WHOLE:.*]] = dist.reshard %[[X]] {why = "RMSNormalization needs it whole"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[N1:.*]] = onnx.RMSNormalization %[[X_WHOLE]], %[[NORM1]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>

// Attention, all of it on the heads that the rank holds.
// CHECK: %[[Q:.*]] = onnx.MatMul %[[N1]], %[[WQ]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, (2:"tp"=2, 8)]>>
// CHECK: %[[QS:.*]] = onnx.Reshape %[[Q]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, (2:"tp"=2, 2), {}]>>
// CHECK: %[[QT:.*]] = onnx.Transpose %[[QS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 2), {}, {}]>>
// CHECK: %[[K:.*]] = onnx.MatMul %[[N1]], %[[WK]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, (2:"tp"=2, 4)]>>
// CHECK: %[[KS:.*]] = onnx.Reshape %[[K]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}, {}]>>
// CHECK: %[[KT:.*]] = onnx.Transpose %[[KS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[K1:.*]] = onnx.Reshape %[[KT]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}, {}]>>
// CHECK: %[[K2:.*]] = onnx.Expand %[[K1]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}, {}]>>
// CHECK: %[[KR:.*]] = onnx.Reshape %[[K2]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 2), {}, {}]>>
// CHECK: %[[V:.*]] = onnx.MatMul %[[N1]], %[[WV]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, (2:"tp"=2, 4)]>>
// CHECK: %[[VS:.*]] = onnx.Reshape %[[V]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}, {}]>>
// CHECK: %[[VT:.*]] = onnx.Transpose %[[VS]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}]>>
// CHECK: %[[V1:.*]] = onnx.Reshape %[[VT]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}, {}]>>
// CHECK: %[[V2:.*]] = onnx.Expand %[[V1]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {"tp"=2}, {}, {}, {}]>>
// CHECK: %[[VR:.*]] = onnx.Reshape %[[V2]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 2), {}, {}]>>
// CHECK: %[[KRT:.*]] = onnx.Transpose %[[KR]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 2), {}, {}]>>
// CHECK: %[[SCORES:.*]] = onnx.MatMul %[[QT]], %[[KRT]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 2), {}, {}]>>
// CHECK: %[[PROBS:.*]] = onnx.Softmax %[[SCORES]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 2), {}, {}]>>
// CHECK: %[[MIXED:.*]] = onnx.MatMul %[[PROBS]], %[[VR]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, (2:"tp"=2, 2), {}, {}]>>
// CHECK: %[[MT:.*]] = onnx.Transpose %[[MIXED]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, (2:"tp"=2, 2), {}]>>
// CHECK: %[[MS:.*]] = onnx.Reshape %[[MT]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, (2:"tp"=2, 8)]>>

// Each rank has summed over its own heads: a partial sum of the output. Second
// exchange.
// CHECK: %[[O:.*]] = onnx.MatMul %[[MS]], %[[WO]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[O_WHOLE:.*]] = dist.reshard %[[O]] {why = "sum of the parts of MatMul"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[X1:.*]] = onnx.Add %[[X_WHOLE]], %[[O_WHOLE]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[N2:.*]] = onnx.RMSNormalization %[[X1]], %[[NORM2]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>

// The MLP likewise; third exchange.
// CHECK: %[[G:.*]] = onnx.MatMul %[[N2]], %[[GATE]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[SG:.*]] = onnx.Sigmoid %[[G]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[SILU:.*]] = onnx.Mul %[[G]], %[[SG]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[U:.*]] = onnx.MatMul %[[N2]], %[[UP]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[H:.*]] = onnx.Mul %[[SILU]], %[[U]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: %[[D:.*]] = onnx.MatMul %[[H]], %[[DOWN]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}], partial = {"tp"=2: sum}>>
// CHECK: %[[D_WHOLE:.*]] = dist.reshard %[[D]] {why = "sum of the parts of MatMul"}{{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[X2:.*]] = onnx.Add %[[X1]], %[[D_WHOLE]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[N3:.*]] = onnx.RMSNormalization %[[X2]], %[[NORM3]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[LOGITS:.*]] = onnx.MatMul %[[N3]], %[[HEAD]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {"tp"=2}]>>
// CHECK: return %[[LOGITS]]
