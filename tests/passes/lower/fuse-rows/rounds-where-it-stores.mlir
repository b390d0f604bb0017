// Halves are widened where they are read and rounded where they are stored; in
// between, and from member to member, there is f32. A cast rounds.
// RUN: shard-opt %s --shardc-fuse-rows | FileCheck %s

!half = !rt.view<f16, [b, 64], [64, 1], 0>
!full = !rt.view<f32, [b, 64], [64, 1], 0>

rt.program @stage0 {
  rt.ready
  %x0 = rt.input 0 "x" f16 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
  %x = rt.view %x0 : <f16, [b, 64], [64, 1], 0>
  %0 = rt.alloc <[b * 128]>
  %a = rt.view %0 : <f16, [b, 64], [64, 1], 0>
  rt.call "Neg"(%x : !half) into(%a : !half) {}
  %1 = rt.alloc <[b * 128]>
  %c = rt.view %1 : <f16, [b, 64], [64, 1], 0>
  rt.call "Abs"(%a : !half) into(%c : !half) {}
  rt.free %0
  %2 = rt.alloc <[b * 256]>
  %d = rt.view %2 : <f32, [b, 64], [64, 1], 0>
  rt.call "Cast"(%c : !half) into(%d : !full) {}
  rt.free %1
  %3 = rt.alloc <[b * 128]>
  %y = rt.view %3 : <f16, [b, 64], [64, 1], 0>
  rt.call "Cast"(%d : !full) into(%y : !half) {}
  rt.free %2
  rt.output 0 "y" %y <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !half
}

// CHECK: rt.kernel @rows_Neg_Abs_Cast_Cast_{{.*}} ["column"] -> ["column"]
// CHECK-NEXT: ^bb0(%[[X:.*]]: f16):
// CHECK-NEXT: %[[W:.*]] = arith.extf %[[X]] : f16 to f32
// CHECK-NEXT: %[[N:.*]] = arith.negf %[[W]] : f32
// CHECK-NEXT: %[[A:.*]] = math.absf %[[N]] : f32
// CHECK-NEXT: %[[H:.*]] = arith.truncf %[[A]] : f32 to f16
// CHECK-NEXT: %[[F:.*]] = arith.extf %[[H]] : f16 to f32
// CHECK-NEXT: %[[Y:.*]] = arith.truncf %[[F]] : f32 to f16
// CHECK-NEXT: rt.yield %[[Y]] : f16
