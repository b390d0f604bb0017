// Nothing but elementwise ops: every rank computes the same.
// RUN: shard-opt %s --shardc-propagate-shardings --verify-diagnostics | FileCheck %s

!x = tensor<?x?x16xf32, #dist.value<dims = [b, s, 16]>>

dist.mesh @mesh <["tp"=2]>

// expected-warning@+1 {{nothing in the model can be split over "tp" = 2: every rank computes the same}}
func.func @main(%x: !x) -> !x {
  %y = onnx.Relu %x : (!x) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]*]]: tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: %[[Y:.*]] = onnx.Relu %[[X]]{{.*}} -> tensor<{{[^>]*}}sharding = [{}, {}, {}]>>
// CHECK: return %[[Y]]
