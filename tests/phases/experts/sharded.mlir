// Each rank has two whole experts, and the router, which decides alike everywhere. What it
// computes is a summand: 0 for tokens that chose none of its experts.
//
// RUN: shard-opt %S/imported.mlir --shardc-propagate-shardings --shardc-verify-phase="phase=sharded allows-unrecorded=true" | FileCheck %s

// CHECK: name = "router"{{.*}}sharding = [{}, {}]>>
// CHECK: name = "up"{{.*}}sharding = [{"ep"=2}, {}, {}]>>
// CHECK: name = "down"{{.*}}sharding = [{"ep"=2}, {}, {}]>>
// CHECK: %[[M:.*]] = onnx.MixtureOfExperts {{.*}}partial = {"ep"=2: sum}>>
// CHECK: dist.reshard %[[M]] {why = "sum of the parts of {{.*}} to tensor<{{[^>]*}}sharding = [{}, {}]>>
