// Halves are widened where they are read; what each member gives has the bits
// of its type, as it would where it was stored: a comparison gives the same in
// this kernel as in another. A cast to f32 does not round, one back does.
// RUN: shard-opt %s --shardc-fuse-rows | FileCheck %s

!half = !rt.view<f16, [b, 64], [64, 1], 0>
!bool = !rt.view<i1, [b, 64], [64, 1], 0>

rt.program @stage0 {
  rt.ready
  %x0 = rt.input 0 "x" f16 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
  %x = rt.view %x0 : <f16, [b, 64], [64, 1], 0>
  %0 = rt.alloc <[b * 128]>
  %a = rt.view %0 : <f16, [b, 64], [64, 1], 0>
  rt.call "Add"(%x, %x : !half, !half) into(%a : !half) {}
  %1 = rt.alloc <[b * 128]>
  %m = rt.view %1 : <f16, [b, 64], [64, 1], 0>
  rt.call "Mul"(%a, %x : !half, !half) into(%m : !half) {}
  %2 = rt.alloc <[b * 64]>
  %e = rt.view %2 : <i1, [b, 64], [64, 1], 0>
  rt.call "Less"(%m, %x : !half, !half) into(%e : !bool) {}
  %3 = rt.alloc <[b * 128]>
  %n = rt.view %3 : <f16, [b, 64], [64, 1], 0>
  rt.call "Neg"(%x : !half) into(%n : !half) {}
  rt.free %0
  rt.free %1
  %4 = rt.alloc <[b * 128]>
  %y = rt.view %4 : <f16, [b, 64], [64, 1], 0>
  rt.call "Where"(%e, %n, %x : !bool, !half, !half) into(%y : !half) {}
  rt.free %2
  rt.free %3
  rt.output 0 "y" %y <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !half
}

// CHECK: rt.kernel @rows_Add_Mul_Less_Neg_etc_{{.*}} ["column"] -> ["column"]
// CHECK-NEXT: ^bb0(%[[X:.*]]: f16):
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT: %[[A:.*]] = arith.addf %[[W]], %[[W]] : f32
// CHECK-NEXT: %[[AH:.*]] = arith.truncf %[[A]] : f32 to f16
// CHECK-NEXT: %[[AR:.*]] = arith.extf %[[AH]] : f16 to f32
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[AR]], %[[W]] : f32
// CHECK-NEXT: %[[MH:.*]] = arith.truncf %[[M]] : f32 to f16
// CHECK-NEXT: %[[MR:.*]] = arith.extf %[[MH]] : f16 to f32
// CHECK-NEXT: %[[E:.*]] = arith.cmpf olt, %[[MR]], %[[W]] : f32
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[W]] : f32
// CHECK-NEXT: %[[NH:.*]] = arith.truncf %[[N]] : f32 to f16
// CHECK-NEXT: %[[NR:.*]] = arith.extf %[[NH]] : f16 to f32
// CHECK-NEXT: %[[Y:.*]] = arith.select %[[E]], %[[NR]], %[[W]] : f32
// CHECK-NEXT: %[[H:.*]] = arith.truncf %[[Y]] : f32 to f16
// CHECK-NEXT: rt.yield %[[H]] : f16
