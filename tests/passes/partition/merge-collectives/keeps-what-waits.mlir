// Apart stay: what waits for another one, sums and maxima, other axes, and what is large
// or of a size that is not known.
// RUN: shard-opt %s --shardc-partition --shardc-merge-collectives --shardc-verify-phase="phase=partitioned allows-unrecorded=true" | FileCheck %s
// CHECK-NOT: dist.together

!part = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
!cp = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"cp"=2: sum}>>
!max = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: max}>>
!one = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!rows = tensor<?x4xf32, #dist.value<dims = [n, 4], sharding = [{}, {}], partial = {"tp"=2: sum}>>
!whole = tensor<?x4xf32, #dist.value<dims = [n, 4], sharding = [{}, {}]>>
!large = tensor<8192xf32, #dist.value<dims = [8192], sharding = [{}], partial = {"tp"=2: sum}>>
!largeWhole = tensor<8192xf32, #dist.value<dims = [8192], sharding = [{}]>>
dist.mesh @mesh <["cp"=2, "tp"=2]>

func.func @waits(%x: !part, %y: !part) -> !one {
  %0 = dist.reshard %x : !part to !one
  %1 = onnx.Abs %0 : (!one) -> !one
  %2 = dist.reshard %1 : !one to !part
  %3 = onnx.Add %2, %y : (!part, !part) -> !part
  %4 = dist.reshard %3 : !part to !one
  return %4 : !one
}

func.func @other(%x: !part, %y: !cp, %z: !max) -> (!one, !one, !one) {
  %0 = dist.reshard %x : !part to !one
  %1 = dist.reshard %y : !cp to !one
  %2 = dist.reshard %z : !max to !one
  return %0, %1, %2 : !one, !one, !one
}

func.func @unknown(%x: !rows, %y: !rows) -> (!whole, !whole) {
  %0 = dist.reshard %x : !rows to !whole
  %1 = dist.reshard %y : !rows to !whole
  return %0, %1 : !whole, !whole
}

func.func @large(%x: !large, %y: !large) -> (!largeWhole, !largeWhole) {
  %0 = dist.reshard %x : !large to !largeWhole
  %1 = dist.reshard %y : !large to !largeWhole
  return %0, %1 : !largeWhole, !largeWhole
}
