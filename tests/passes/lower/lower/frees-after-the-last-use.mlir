// Buffers live from rt.alloc to their last reader; outputs are not freed.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!x = tensor<?x16xf32, #dist.value<dims = [batch, 16], sharding = [{}, {}]>>

dist.mesh @mesh <["tp"=2]>

func.func @stage0(%x: !x) -> !x {
  %a = onnx.Relu %x : (!x) -> !x
  %b = onnx.Exp %a : (!x) -> !x
  %c = onnx.Add %a, %b : (!x, !x) -> !x
  %d = onnx.Tanh %c : (!x) -> !x
  return %d : !x
}

// CHECK: %[[A:.*]] = rt.alloc
// CHECK: rt.call "Relu"
// CHECK: %[[B:.*]] = rt.alloc
// CHECK: rt.call "Exp"
// CHECK-NOT: rt.free
// CHECK: %[[C:.*]] = rt.alloc
// CHECK: rt.call "Add"
// CHECK-DAG: rt.free %[[A]]
// CHECK-DAG: rt.free %[[B]]
// CHECK: %[[D:.*]] = rt.alloc
// CHECK: rt.call "Tanh"
// CHECK-NEXT: rt.free %[[C]]
// CHECK-NOT: rt.free
// CHECK: rt.output
