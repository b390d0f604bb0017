// Every rank has half of the positions and all weights. Late positions see more keys than
// early ones, so attention deals them out zig-zag: rank 0 gets the first and the last
// quarter, rank 1 what is between. Keys and values are never whole in one place.
//
// RUN: shard-opt %S/imported.mlir --shardc-propagate-shardings --shardc-verify-phase="phase=sharded allows-unrecorded=true" | FileCheck %s

// CHECK: func.func @main(%{{[^:]*}}: tensor<{{[^>]*}}sharding = [{}, {"cp"=2}, {}]>>
// CHECK: %[[Q:.*]] = onnx.Transpose {{.*}}-> tensor<{{[^>]*}}sharding = [{}, {}, {"cp"=2}, {}]>>
// CHECK: %[[ZQ:.*]] = dist.reshard %[[Q]] {{.*}}[(seq floordiv 2): ((seq floordiv 2):"cp"=2) | {{[^|]*}}:-"cp"=2)]
// CHECK: %[[K:.*]] = onnx.Transpose
// CHECK: %[[ZK:.*]] = dist.reshard %[[K]] {{.*}}:-"cp"=2)]
// CHECK: %[[RK:.*]] = dist.ring %[[ZK]] dim 2 over <["cp"=2]> steps [0, 1] {{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}, {}]>>
// CHECK: %[[RV:.*]] = dist.ring %{{.*}} dim 2 over <["cp"=2]> steps [0, 1]
// CHECK: %[[A:.*]] = onnx.Attention %[[ZQ]], %[[RK]], %[[RV]] {{.*}}:-"cp"=2)]
// CHECK: dist.reshard %[[A]] {{.*}} to tensor<{{[^>]*}}sharding = [{}, {}, {"cp"=2}, {}]>>
