// One all_reduce a mixture.
//
// RUN: shard-opt %S/imported.mlir --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s

// CHECK-LABEL: func.func @stage0(
// CHECK: %[[M:.*]] = onnx.MixtureOfExperts {{.*}}tensor<2x8x16xf32
// CHECK: %[[S:.*]] = dist.all_reduce %[[M]] over <["ep"=2]> "sum"
// CHECK: onnx.Add %{{.*}}, %[[S]]
// CHECK-NOT: dist.all
// CHECK-LABEL: func.func private @stage0.sharded(
