// A sum's order must not depend on what else is in its kernel.
// RUN: sed -e "1i module attributes {onnx.whole_sums} {" -e "$ a }" %s | shard-opt --shardc-fuse-rows | FileCheck %s --check-prefix=ORDER
// RUN: shard-opt %s --shardc-fuse-rows | FileCheck %s

// ORDER: rt.kernel @rows_Swish_{{.*}} attributes {rt.in_order}
// CHECK: rt.kernel @rows_Swish_
// CHECK-NOT: rt.in_order
rt.program @stage0 {
  rt.ready
  %x = rt.input 0 "x" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
  %xv = rt.view %x : <f32, [b, 64], [64, 1], 0>
  %0 = rt.alloc <[b * 256]>
  %y = rt.view %0 : <f32, [b, 64], [64, 1], 0>
  rt.call "Swish"(%xv : !rt.view<f32, [b, 64], [64, 1], 0>) into(%y : !rt.view<f32, [b, 64], [64, 1], 0>) {alpha = 1.0 : f32}
  rt.output 0 "y" %y <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : !rt.view<f32, [b, 64], [64, 1], 0>
}
