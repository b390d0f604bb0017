// The layer of one-layer/imported.mlir with sequence parallelism: a reduce_scatter where
// there was an all_reduce, an all_gather in front of the next product. Norms and the
// residual hold a part of the positions, uneven ones where they do not divide.
//
// RUN: shard-opt %S/../one-layer/imported.mlir --shardc-propagate-shardings=sequence-parallel=true --shardc-cut-stages --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[P:.*]] = onnx.MatMul {{.*}}partial = {"tp"=2: sum}
// CHECK: %[[O:.*]] = dist.reduce_scatter %[[P]] dim 1 over <["tp"=2]> "sum"
// CHECK: %[[R:.*]] = onnx.Add %{{.*}}, %[[O]] {{.*}}local = [batch, ((seq * @tp) floordiv 2) * -1 + ((seq * @tp + seq) floordiv 2), 16]
// CHECK: %[[N:.*]] = onnx.RMSNormalization %[[R]]
// CHECK: %[[WHOLE:.*]] = dist.all_gather %[[N]] dim 1 over <["tp"=2]>
// CHECK: onnx.MatMul %[[WHOLE]]
// CHECK: dist.reduce_scatter %{{.*}} dim 1 over <["tp"=2]> "sum"
// CHECK: dist.all_gather %{{.*}} dim 1 over <["tp"=2]>
// CHECK-NOT: dist.all_reduce
// CHECK-LABEL: func.func private @stage0.sharded(
