// A reduction alone is stored once a row.
// RUN: shard-opt %s --shardc-test-emit-rows | FileCheck %s

// CHECK-LABEL: llvm.func @mean
// CHECK: %[[COUNT:.*]] = arith.sitofp
// CHECK: %[[SUM:.*]] = vector.extract
// CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %[[COUNT]] : f32
// CHECK: llvm.store %[[MEAN]], {{.*}} : f32, !llvm.ptr
// CHECK-NOT: scf.for
// CHECK: llvm.return
rt.kernel @mean ["column"] -> ["row"] {
^bb0(%x: f32):
  %sum = rt.reduce "sum" %x : f32
  %count = rt.columns : f32
  %mean = arith.divf %sum, %count : f32
  rt.yield %mean : f32
}
