// Softmax is three loops over the columns: the maximum, the exponentials and
// their sum, the quotients. Exponentials are kept in the row's scratch.
// RUN: shard-opt %s --shardc-test-emit-rows | FileCheck %s

// CHECK: llvm.func @softmax(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[FIRST:.*]]: i64, %[[END:.*]]: i64, %[[SCRATCH:.*]]: !llvm.ptr)
// CHECK: scf.for {{.*}} = %[[FIRST]] to %[[END]]
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK-COUNT-4: arith.cmpf ogt
// CHECK: scf.for
// CHECK-NOT: math.exp
// CHECK: llvm.intr.masked.load
// CHECK: vector.shuffle
// CHECK: scf.for
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: math.exp
// CHECK: llvm.store {{.*}} vector<16xf32>
// CHECK: arith.addf {{.*}} vector<16xf32>
// CHECK: vector.shuffle
// CHECK: arith.divf {{.*}} : f32
// CHECK: scf.for
// CHECK-NOT: math.exp
// CHECK: llvm.getelementptr %[[SCRATCH]]
// CHECK: arith.mulf {{.*}} : vector<16xf32>
// CHECK: llvm.intr.masked.store
// CHECK: llvm.return
rt.kernel @softmax ["column"] -> ["column"] {
^bb0(%x: f32):
  %max = rt.reduce "max" %x : f32
  %0 = arith.subf %x, %max : f32
  %e = math.exp %0 : f32
  %sum = rt.reduce "sum" %e : f32
  %one = arith.constant 1.0 : f32
  %inverse = arith.divf %one, %sum : f32
  %y = arith.mulf %e, %inverse : f32
  rt.yield %y : f32
}
