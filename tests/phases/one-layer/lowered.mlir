// The layer of imported.mlir as what a rank executes: buffers, strided views on
// them, and kernel calls that read views and write views. Reshapes, transposes
// and repeated KV heads have become views. Sizes stay expressions over the input's
// symbols, so that one program serves every input.
//
// RUN: shard-opt %S/imported.mlir --shardc-fingerprint --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-lower --shardc-verify-phase=phase=lowered | FileCheck %s

// CHECK: rt.program @stage0

// Each rank maps its part of the file. A matrix takes part in a batched product as
// a view with stride 0 along the batch.
// CHECK: %[[EMBED:.*]] = rt.weight "embed" "model.bin" at 0 length 4096 f32 {{.*}}local = [64, 8]>
// CHECK: %[[EMBED_READ:.*]] = rt.view %[[EMBED]] : <f32, [64, 8], [8, 1], 0>
// CHECK: %[[NORM1:.*]] = rt.weight "norm1" "model.bin" at 4096 length 64 f32 {{.*}}local = [16]>
// CHECK: %[[NORM1_READ:.*]] = rt.view %[[NORM1]] : <f32, [16], [1], 0, replicated>
// CHECK: %[[WQ:.*]] = rt.weight "wq" "model.bin" at 4160 length 1024 f32 {{.*}}local = [16, 8]>
// CHECK: %[[WQ_READ:.*]] = rt.view %[[WQ]] : <f32, [batch, 16, 8], [0, 8, 1], 0>
// CHECK: %[[WK:.*]] = rt.weight "wk" "model.bin" at 5184 length 512 f32 {{.*}}local = [16, 4]>
// CHECK: %[[WK_READ:.*]] = rt.view %[[WK]] : <f32, [batch, 16, 4], [0, 4, 1], 0>
// CHECK: %[[WV:.*]] = rt.weight "wv" "model.bin" at 5696 length 512 f32 {{.*}}local = [16, 4]>
// CHECK: %[[WV_READ:.*]] = rt.view %[[WV]] : <f32, [batch, 16, 4], [0, 4, 1], 0>
// CHECK: %[[WO:.*]] = rt.weight "wo" "model.bin" at 6208 length 1024 f32 {{.*}}local = [8, 16]>
// CHECK: %[[WO_READ:.*]] = rt.view %[[WO]] : <f32, [batch, 8, 16], [0, 16, 1], 0>
// CHECK: %[[NORM2:.*]] = rt.weight "norm2" "model.bin" at 7232 length 64 f32 {{.*}}local = [16]>
// CHECK: %[[NORM2_READ:.*]] = rt.view %[[NORM2]] : <f32, [16], [1], 0, replicated>
// CHECK: %[[GATE:.*]] = rt.weight "gate" "model.bin" at 7296 length 2048 f32 {{.*}}local = [16, 16]>
// CHECK: %[[GATE_READ:.*]] = rt.view %[[GATE]] : <f32, [batch, 16, 16], [0, 16, 1], 0>
// CHECK: %[[UP:.*]] = rt.weight "up" "model.bin" at 9344 length 2048 f32 {{.*}}local = [16, 16]>
// CHECK: %[[UP_READ:.*]] = rt.view %[[UP]] : <f32, [batch, 16, 16], [0, 16, 1], 0>
// CHECK: %[[DOWN:.*]] = rt.weight "down" "model.bin" at 11392 length 2048 f32 {{.*}}local = [16, 16]>
// CHECK: %[[DOWN_READ:.*]] = rt.view %[[DOWN]] : <f32, [batch, 16, 16], [0, 16, 1], 0>
// CHECK: %[[NORM3:.*]] = rt.weight "norm3" "model.bin" at 13440 length 64 f32 {{.*}}local = [16]>
// CHECK: %[[NORM3_READ:.*]] = rt.view %[[NORM3]] : <f32, [16], [1], 0, replicated>
// CHECK: %[[HEAD:.*]] = rt.weight "head" "model.bin" at 13504 length 4096 f32 {{.*}}local = [16, 32]>
// CHECK: %[[HEAD_READ:.*]] = rt.view %[[HEAD]] : <f32, [batch, 16, 32], [0, 32, 1], 0>

// What stood before is done once, when the model is loaded.
// CHECK: rt.ready
// CHECK: %[[IDS:.*]] = rt.input 0 "input_ids" i64 {{.*}}local = [batch, seq]>
// CHECK: %[[IDS_READ:.*]] = rt.view %[[IDS]] : <i64, [batch, seq], [seq, 1], 0, replicated>

// Rows of the embedding: this rank has 8 of 16 columns.
// CHECK: %[[X_PART:.*]] = rt.alloc <[batch * seq * 32]>
// CHECK: %[[X_PART_WRITTEN:.*]] = rt.view %[[X_PART]] : <f32, [batch, seq, 8], [seq * 8, 8, 1], 0>
// CHECK: rt.call "Gather"(%[[EMBED_READ]], %[[IDS_READ]] : {{.*}}) into(%[[X_PART_WRITTEN]] :
// CHECK: %[[X:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[X_WRITTEN:.*]] = rt.view %[[X]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0, replicated>
// CHECK: rt.collective "all_gather" %[[X_PART_WRITTEN]] into %[[X_WRITTEN]] over <["tp"=2]>
// CHECK: rt.free %[[X_PART]]
// CHECK: %[[N1:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[N1_WRITTEN:.*]] = rt.view %[[N1]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0, replicated>
// CHECK: rt.call "RMSNormalization"(%[[X_WRITTEN]], %[[NORM1_READ]] : {{.*}}) into(%[[N1_WRITTEN]] :

// Heads are views. Queries are written as [batch, seq, 8] and read as
// [batch, heads, seq, size]; the one KV head is read twice, with stride 0.
// CHECK: %[[Q:.*]] = rt.alloc <[batch * seq * 32]>
// CHECK: %[[Q_READ:.*]] = rt.view %[[Q]] : <f32, [batch, 2, seq, 4], [seq * 8, 4, 8, 1], 0>
// CHECK: %[[Q_WRITTEN:.*]] = rt.view %[[Q]] : <f32, [batch, seq, 8], [seq * 8, 8, 1], 0>
// CHECK: rt.call "MatMul"(%[[N1_WRITTEN]], %[[WQ_READ]] : {{.*}}) into(%[[Q_WRITTEN]] :
// CHECK: %[[K:.*]] = rt.alloc <[batch * seq * 16]>
// CHECK: %[[K_READ:.*]] = rt.view %[[K]] : <f32, [batch, 2, 4, seq], [seq * 4, 0, 1, 4], 0>
// CHECK: %[[K_WRITTEN:.*]] = rt.view %[[K]] : <f32, [batch, seq, 4], [seq * 4, 4, 1], 0>
// CHECK: rt.call "MatMul"(%[[N1_WRITTEN]], %[[WK_READ]] : {{.*}}) into(%[[K_WRITTEN]] :
// CHECK: %[[V:.*]] = rt.alloc <[batch * seq * 16]>
// CHECK: %[[V_READ:.*]] = rt.view %[[V]] : <f32, [batch, 2, seq, 4], [seq * 4, 0, 4, 1], 0>
// CHECK: %[[V_WRITTEN:.*]] = rt.view %[[V]] : <f32, [batch, seq, 4], [seq * 4, 4, 1], 0>
// CHECK: rt.call "MatMul"(%[[N1_WRITTEN]], %[[WV_READ]] : {{.*}}) into(%[[V_WRITTEN]] :
// CHECK: rt.free %[[N1]]

// Buffers are freed after their last use, so that the arena may use them again.
// CHECK: %[[SCORES:.*]] = rt.alloc <[batch * seq * seq * 8]>
// CHECK: %[[SCORES_WRITTEN:.*]] = rt.view %[[SCORES]] : <f32, [batch, 2, seq, seq], [seq * seq * 2, seq * seq, seq, 1], 0>
// CHECK: rt.call "MatMul"(%[[Q_READ]], %[[K_READ]] : {{.*}}) into(%[[SCORES_WRITTEN]] :
// CHECK: rt.free %[[K]]
// CHECK: rt.free %[[Q]]
// CHECK: %[[PROBS:.*]] = rt.alloc <[batch * seq * seq * 8]>
// CHECK: %[[PROBS_WRITTEN:.*]] = rt.view %[[PROBS]] : <f32, [batch, 2, seq, seq], [seq * seq * 2, seq * seq, seq, 1], 0>
// CHECK: rt.call "Softmax"(%[[SCORES_WRITTEN]] : {{.*}}) into(%[[PROBS_WRITTEN]] :
// CHECK: rt.free %[[SCORES]]
// CHECK: %[[MIXED:.*]] = rt.alloc <[batch * seq * 32]>
// CHECK: %[[MIXED_READ:.*]] = rt.view %[[MIXED]] : <f32, [batch, seq, 2, 4], [seq * 8, 4, seq * 4, 1], 0>
// CHECK: %[[MIXED_WRITTEN:.*]] = rt.view %[[MIXED]] : <f32, [batch, 2, seq, 4], [seq * 8, seq * 4, 4, 1], 0>
// CHECK: rt.call "MatMul"(%[[PROBS_WRITTEN]], %[[V_READ]] : {{.*}}) into(%[[MIXED_WRITTEN]] :
// CHECK: rt.free %[[PROBS]]
// CHECK: rt.free %[[V]]

// Putting the heads side by side again is the one copy of the layer.
// CHECK: %[[JOINED:.*]] = rt.alloc <[batch * seq * 32]>
// CHECK: %[[JOINED_READ:.*]] = rt.view %[[JOINED]] : <f32, [batch, seq, 8], [seq * 8, 8, 1], 0>
// CHECK: %[[JOINED_WRITTEN:.*]] = rt.view %[[JOINED]] : <f32, [batch, seq, 2, 4], [seq * 8, 8, 4, 1], 0>
// CHECK: rt.call "Copy"(%[[MIXED_READ]] : {{.*}}) into(%[[JOINED_WRITTEN]] :
// CHECK: rt.free %[[MIXED]]

// All ranks get the same bits of a sum: what follows is replicated.
// CHECK: %[[O_PART:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[O_PART_WRITTEN:.*]] = rt.view %[[O_PART]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0>
// CHECK: rt.call "MatMul"(%[[JOINED_READ]], %[[WO_READ]] : {{.*}}) into(%[[O_PART_WRITTEN]] :
// CHECK: rt.free %[[JOINED]]
// CHECK: %[[O:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[O_WRITTEN:.*]] = rt.view %[[O]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0, replicated>
// CHECK: rt.collective "all_reduce" %[[O_PART_WRITTEN]] into %[[O_WRITTEN]] over <["tp"=2]>
// CHECK: rt.free %[[O_PART]]
// CHECK: %[[X1:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[X1_WRITTEN:.*]] = rt.view %[[X1]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0, replicated>
// CHECK: rt.call "Add"(%[[X_WRITTEN]], %[[O_WRITTEN]] : {{.*}}) into(%[[X1_WRITTEN]] :
// CHECK: rt.free %[[O]]
// CHECK: rt.free %[[X]]
// CHECK: %[[N2:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[N2_WRITTEN:.*]] = rt.view %[[N2]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0, replicated>
// CHECK: rt.call "RMSNormalization"(%[[X1_WRITTEN]], %[[NORM2_READ]] : {{.*}}) into(%[[N2_WRITTEN]] :

// The MLP.
// CHECK: %[[G:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[G_WRITTEN:.*]] = rt.view %[[G]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0>
// CHECK: rt.call "MatMul"(%[[N2_WRITTEN]], %[[GATE_READ]] : {{.*}}) into(%[[G_WRITTEN]] :
// CHECK: %[[SG:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[SG_WRITTEN:.*]] = rt.view %[[SG]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0>
// CHECK: rt.call "Sigmoid"(%[[G_WRITTEN]] : {{.*}}) into(%[[SG_WRITTEN]] :
// CHECK: %[[SILU:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[SILU_WRITTEN:.*]] = rt.view %[[SILU]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0>
// CHECK: rt.call "Mul"(%[[G_WRITTEN]], %[[SG_WRITTEN]] : {{.*}}) into(%[[SILU_WRITTEN]] :
// CHECK: rt.free %[[SG]]
// CHECK: rt.free %[[G]]
// CHECK: %[[U:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[U_WRITTEN:.*]] = rt.view %[[U]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0>
// CHECK: rt.call "MatMul"(%[[N2_WRITTEN]], %[[UP_READ]] : {{.*}}) into(%[[U_WRITTEN]] :
// CHECK: rt.free %[[N2]]
// CHECK: %[[H:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[H_WRITTEN:.*]] = rt.view %[[H]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0>
// CHECK: rt.call "Mul"(%[[SILU_WRITTEN]], %[[U_WRITTEN]] : {{.*}}) into(%[[H_WRITTEN]] :
// CHECK: rt.free %[[U]]
// CHECK: rt.free %[[SILU]]
// CHECK: %[[D_PART:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[D_PART_WRITTEN:.*]] = rt.view %[[D_PART]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0>
// CHECK: rt.call "MatMul"(%[[H_WRITTEN]], %[[DOWN_READ]] : {{.*}}) into(%[[D_PART_WRITTEN]] :
// CHECK: rt.free %[[H]]
// CHECK: %[[D:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[D_WRITTEN:.*]] = rt.view %[[D]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0, replicated>
// CHECK: rt.collective "all_reduce" %[[D_PART_WRITTEN]] into %[[D_WRITTEN]] over <["tp"=2]>
// CHECK: rt.free %[[D_PART]]
// CHECK: %[[X2:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[X2_WRITTEN:.*]] = rt.view %[[X2]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0, replicated>
// CHECK: rt.call "Add"(%[[X1_WRITTEN]], %[[D_WRITTEN]] : {{.*}}) into(%[[X2_WRITTEN]] :
// CHECK: rt.free %[[D]]
// CHECK: rt.free %[[X1]]

// This rank's half of the logits; the caller owns them.
// CHECK: %[[N3:.*]] = rt.alloc <[batch * seq * 64]>
// CHECK: %[[N3_WRITTEN:.*]] = rt.view %[[N3]] : <f32, [batch, seq, 16], [seq * 16, 16, 1], 0, replicated>
// CHECK: rt.call "RMSNormalization"(%[[X2_WRITTEN]], %[[NORM3_READ]] : {{.*}}) into(%[[N3_WRITTEN]] :
// CHECK: rt.free %[[X2]]
// CHECK: %[[LOGITS:.*]] = rt.alloc <[batch * seq * 128]>
// CHECK: %[[LOGITS_WRITTEN:.*]] = rt.view %[[LOGITS]] : <f32, [batch, seq, 32], [seq * 32, 32, 1], 0>
// CHECK: rt.call "MatMul"(%[[N3_WRITTEN]], %[[HEAD_READ]] : {{.*}}) into(%[[LOGITS_WRITTEN]] :
// CHECK: rt.free %[[N3]]
// CHECK: %[[LOGITS_READ:.*]] = rt.view %[[LOGITS]] : <f32, [batch, seq, 32], [seq * 32, 32, 1], 0>
// CHECK: rt.output 0 "logits" %[[LOGITS_READ]]
