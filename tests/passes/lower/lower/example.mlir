// A kernel call writes a new buffer of the arena through a view; the input's
// buffer is not ours to free, and the output's belongs to the caller.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [batch, 16], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x {onnx.name = "x"}) -> (!x {onnx.name = "y"}) {
  %y = onnx.Relu %x : (!x) -> !x
  return %y : !x
}

// CHECK-LABEL: rt.program @stage0 attributes {rt.partitioned = @stage0.partitioned}
// CHECK: rt.ready
// CHECK: %[[X:.*]] = rt.input 0 "x" f32
// CHECK: %[[FROM:.*]] = rt.view %[[X]] : <f32, [batch, 16], [16, 1], 0, replicated>
// CHECK: %[[Y:.*]] = rt.alloc <[batch * 64]>
// CHECK: %[[TO:.*]] = rt.view %[[Y]] : <f32, [batch, 16], [16, 1], 0, replicated>
// CHECK: rt.call "Relu"(%[[FROM]] : {{.*}}) into(%[[TO]] : {{.*}}) {}
// CHECK: %[[OUT:.*]] = rt.view %[[Y]]
// CHECK: rt.output 0 "y" %[[OUT]]
// CHECK-NOT: rt.free
// CHECK: func.func @stage0.partitioned
// CHECK-NOT: func.func
