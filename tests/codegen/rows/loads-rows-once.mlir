// What is the same for a whole row is a scalar in front of the loop over its
// columns; bf16 is read as its bits, a bool as a byte.
// RUN: shard-opt %s --shardc-test-emit-rows | FileCheck %s

// CHECK-LABEL: llvm.func @choose
// CHECK: scf.for
// CHECK: %[[S:.*]] = llvm.load {{.*}} : !llvm.ptr -> f32
// CHECK: scf.for
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<16xi8>
// CHECK: arith.cmpi ne
// CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<16xi16>
// CHECK: arith.bitcast {{.*}} : vector<16xi16> to vector<16xbf16>
// CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK: vector.broadcast %[[S]] : f32 to vector<16xf32>
// CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf32>
// CHECK: scf.if
// CHECK: llvm.intr.masked.store {{.*}} vector<16xi16>, vector<16xi1>
rt.kernel @choose ["column", "column", "row"] -> ["column"] {
^bb0(%c: i1, %x: bf16, %s: f32):
  %0 = arith.extf %x : bf16 to f32
  %1 = arith.select %c, %0, %s : f32
  %y = arith.truncf %1 : f32 to bf16
  rt.yield %y : bf16
}
