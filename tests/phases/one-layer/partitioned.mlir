// The layer of imported.mlir as one program for both ranks. Types have the sizes
// of what a rank holds (`local`), beside the global ones; each dist.reshard has
// become collectives over a mesh axis. The sharded function stays until lowering:
// verify-phase compares what the two compute.
//
// RUN: shard-opt %S/imported.mlir --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

// CHECK-LABEL: func.func @stage0(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<{{[^>]*}}local = [batch, seq]>>

// Half of each split matrix, all of each norm.
// CHECK: %[[EMBED:.*]] = onnx.Weight {{.*}}name = "embed"{{.*}} -> tensor<{{[^>]*}}local = [64, 8]>>
// CHECK: %[[NORM1:.*]] = onnx.Weight {{.*}}name = "norm1"{{.*}} -> tensor<{{[^>]*}}local = [16]>>
// CHECK: %[[WQ:.*]] = onnx.Weight {{.*}}name = "wq"{{.*}} -> tensor<{{[^>]*}}local = [16, 8]>>
// CHECK: %[[WK:.*]] = onnx.Weight {{.*}}name = "wk"{{.*}} -> tensor<{{[^>]*}}local = [16, 4]>>
// CHECK: %[[WV:.*]] = onnx.Weight {{.*}}name = "wv"{{.*}} -> tensor<{{[^>]*}}local = [16, 4]>>
// CHECK: %[[WO:.*]] = onnx.Weight {{.*}}name = "wo"{{.*}} -> tensor<{{[^>]*}}local = [8, 16]>>
// CHECK: %[[NORM2:.*]] = onnx.Weight {{.*}}name = "norm2"{{.*}} -> tensor<{{[^>]*}}local = [16]>>
// CHECK: %[[GATE:.*]] = onnx.Weight {{.*}}name = "gate"{{.*}} -> tensor<{{[^>]*}}local = [16, 16]>>
// CHECK: %[[UP:.*]] = onnx.Weight {{.*}}name = "up"{{.*}} -> tensor<{{[^>]*}}local = [16, 16]>>
// CHECK: %[[DOWN:.*]] = onnx.Weight {{.*}}name = "down"{{.*}} -> tensor<{{[^>]*}}local = [16, 16]>>
// CHECK: %[[NORM3:.*]] = onnx.Weight {{.*}}name = "norm3"{{.*}} -> tensor<{{[^>]*}}local = [16]>>
// CHECK: %[[HEAD:.*]] = onnx.Weight {{.*}}name = "head"{{.*}} -> tensor<{{[^>]*}}local = [16, 32]>>

// 8 of 16 columns of the embedding, then all of them.
// CHECK: %[[X:.*]] = onnx.Gather %[[EMBED]], %[[IDS]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 8]>>
// CHECK: %[[X_WHOLE:.*]] = dist.all_gather %[[X]] dim 2 over <["tp"=2]> {why = "RMSNormalization needs it whole"}{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[N1:.*]] = onnx.RMSNormalization %[[X_WHOLE]], %[[NORM1]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>

// 2 of 4 query heads, 1 of 2 KV heads.
// CHECK: %[[Q:.*]] = onnx.MatMul %[[N1]], %[[WQ]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 8]>>
// CHECK: %[[QS:.*]] = onnx.Reshape %[[Q]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 2, 4]>>
// CHECK: %[[QT:.*]] = onnx.Transpose %[[QS]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 2, seq, 4]>>
// CHECK: %[[K:.*]] = onnx.MatMul %[[N1]], %[[WK]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 4]>>
// CHECK: %[[KS:.*]] = onnx.Reshape %[[K]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 1, 4]>>
// CHECK: %[[KT:.*]] = onnx.Transpose %[[KS]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 1, seq, 4]>>
// CHECK: %[[K1:.*]] = onnx.Reshape %[[KT]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 1, 1, seq, 4]>>
// CHECK: %[[K2:.*]] = onnx.Expand %[[K1]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 1, 2, seq, 4]>>
// CHECK: %[[KR:.*]] = onnx.Reshape %[[K2]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 2, seq, 4]>>
// CHECK: %[[V:.*]] = onnx.MatMul %[[N1]], %[[WV]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 4]>>
// CHECK: %[[VS:.*]] = onnx.Reshape %[[V]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 1, 4]>>
// CHECK: %[[VT:.*]] = onnx.Transpose %[[VS]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 1, seq, 4]>>
// CHECK: %[[V1:.*]] = onnx.Reshape %[[VT]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 1, 1, seq, 4]>>
// CHECK: %[[V2:.*]] = onnx.Expand %[[V1]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 1, 2, seq, 4]>>
// CHECK: %[[VR:.*]] = onnx.Reshape %[[V2]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 2, seq, 4]>>
// CHECK: %[[KRT:.*]] = onnx.Transpose %[[KR]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 2, 4, seq]>>
// CHECK: %[[SCORES:.*]] = onnx.MatMul %[[QT]], %[[KRT]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 2, seq, seq]>>
// CHECK: %[[PROBS:.*]] = onnx.Softmax %[[SCORES]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 2, seq, seq]>>
// CHECK: %[[MIXED:.*]] = onnx.MatMul %[[PROBS]], %[[VR]]{{.*}} -> tensor<{{[^>]*}}local = [batch, 2, seq, 4]>>
// CHECK: %[[MT:.*]] = onnx.Transpose %[[MIXED]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 2, 4]>>
// CHECK: %[[MS:.*]] = onnx.Reshape %[[MT]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 8]>>

// Its summand of the output, then the sum.
// CHECK: %[[O:.*]] = onnx.MatMul %[[MS]], %[[WO]]{{.*}} -> tensor<{{[^>]*}}partial = {"tp"=2: sum}, local = [batch, seq, 16]>>
// CHECK: %[[O_SUM:.*]] = dist.all_reduce %[[O]] over <["tp"=2]> "sum" {why = "sum of the parts of MatMul"}{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[X1:.*]] = onnx.Add %[[X_WHOLE]], %[[O_SUM]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[N2:.*]] = onnx.RMSNormalization %[[X1]], %[[NORM2]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>

// 16 of 32 columns.
// CHECK: %[[G:.*]] = onnx.MatMul %[[N2]], %[[GATE]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[SG:.*]] = onnx.Sigmoid %[[G]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[SILU:.*]] = onnx.Mul %[[G]], %[[SG]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[U:.*]] = onnx.MatMul %[[N2]], %[[UP]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[H:.*]] = onnx.Mul %[[SILU]], %[[U]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[D:.*]] = onnx.MatMul %[[H]], %[[DOWN]]{{.*}} -> tensor<{{[^>]*}}partial = {"tp"=2: sum}, local = [batch, seq, 16]>>
// CHECK: %[[D_SUM:.*]] = dist.all_reduce %[[D]] over <["tp"=2]> "sum" {why = "sum of the parts of MatMul"}{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[X2:.*]] = onnx.Add %[[X1]], %[[D_SUM]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>
// CHECK: %[[N3:.*]] = onnx.RMSNormalization %[[X2]], %[[NORM3]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 16]>>

// 32 of 64 logits.
// CHECK: %[[LOGITS:.*]] = onnx.MatMul %[[N3]], %[[HEAD]]{{.*}} -> tensor<{{[^>]*}}local = [batch, seq, 32]>>
// CHECK: return %[[LOGITS]]
// CHECK-LABEL: func.func private @stage0.sharded(
