// For a GPU, a bias, a residual and an activation that nothing else would be
// done with are the product's, whatever the order of the sums. The host's
// artifacts keep their kernels.
// RUN: shard-opt %s --shardc-fuse-rows=target=cuda | FileCheck %s
// RUN: shard-opt %s --shardc-fuse-rows | FileCheck %s --check-prefix=HOST

!view = !rt.view<f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
!weight = !rt.view<f32, [b, 64, 64], [0, 64, 1], 0, replicated>
!bias = !rt.view<f32, [b, s, 64], [0, 0, 1], 0, replicated>

rt.program @stage0 {
  %weight = rt.weight "w" "m" at 0 length 16384 f32 <dims = [64, 64], sharding = [{}, {}], local = [64, 64]>
  %w = rt.view %weight : <f32, [b, 64, 64], [0, 64, 1], 0, replicated>
  %offsets = rt.weight "c" "m" at 16384 length 256 f32 <dims = [64], sharding = [{}], local = [64]>
  %c = rt.view %offsets : <f32, [b, s, 64], [0, 0, 1], 0, replicated>
  rt.ready
  %in = rt.input 0 "x" f32 <dims = [b, s, 64], sharding = [{}, {}, {}], local = [b, s, 64]>
  %x = rt.view %in : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  %0 = rt.alloc <[b * s * 256]>
  %p = rt.view %0 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "MatMul"(%x, %w : !view, !weight) into(%p : !view) {} loc("up")
  %1 = rt.alloc <[b * s * 256]>
  %a = rt.view %1 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "Add"(%c, %p : !bias, !view) into(%a : !view) {} loc("bias")
  rt.free %0
  %2 = rt.alloc <[b * s * 256]>
  %h = rt.view %2 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "Gelu"(%a : !view) into(%h : !view) {approximate = "tanh"} loc("act")
  rt.free %1
  %3 = rt.alloc <[b * s * 256]>
  %q = rt.view %3 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "MatMul"(%h, %w : !view, !weight) into(%q : !view) {} loc("down")
  rt.free %2
  %4 = rt.alloc <[b * s * 256]>
  %y = rt.view %4 : <f32, [b, s, 64], [s * 64, 64, 1], 0, replicated>
  rt.call "Add"(%q, %x : !view, !view) into(%y : !view) {} loc("residual")
  rt.free %3
  rt.output 0 "y" %y <dims = [b, s, 64], sharding = [{}, {}, {}], local = [b, s, 64]> : !view
}

// CHECK-LABEL: rt.program @stage0
// CHECK: %[[W:.*]] = rt.view %{{.*}} : <f32, [b, 64, 64], [0, 64, 1]
// CHECK: %[[X:.*]] = rt.view %{{.*}} : <f32, [b, s, 64], [s * 64, 64, 1]
// CHECK-NEXT: %[[TO:.*]] = rt.alloc
// CHECK: %[[C:.*]] = rt.view %{{.*}} : <f32, [b, s, 64], [0, 0, 1]
// CHECK: %[[H:.*]] = rt.view %[[TO]] :
// CHECK: rt.call "Linear"(%[[X]], %[[W]], %[[C]] : {{.*}}) into(%[[H]] : {{.*}}) {activation = "gelu"}
// CHECK: rt.alloc
// CHECK: %[[NONE:.*]] = rt.absent
// CHECK: rt.call "Linear"(%{{.*}}, %[[W]], %[[NONE]], %{{.*}} : {{.*}}) into({{.*}}) {}
// CHECK-NEXT: rt.free %[[TO]]
// CHECK-NOT: rt.kernel

// HOST: rt.call "MatMul"
// HOST: rt.call "rows_Add_Gelu
// HOST-NOT: Linear
