// A cache of the last entries has present in memory that past is not in: past is read while present is written, by the op that
// makes it where it can, by a copy otherwise.
// RUN: shard-opt %s --shardc-partition --shardc-lower | FileCheck %s

!past = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, w, 16], sharding = [{}, {"tp"=2}, {}, {}]>>
!new = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16], sharding = [{}, {"tp"=2}, {}, {}]>>
!joined = tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, w + s, 16], sharding = [{}, {"tp"=2}, {}, {}]>>
!rows = tensor<?x4x?x16xi64, #dist.value<dims = [b, 4, w, 16], sharding = [{}, {"tp"=2}, {}, {}]>>
!n = tensor<?xi64, #dist.value<dims = [b], sharding = [{}]>>

dist.mesh @mesh <["tp"=2]>

// CHECK-LABEL: rt.program @main
// CHECK-NOT: cache
// CHECK: rt.call "CacheAppend"
// CHECK: %[[LAST:.*]] = rt.alloc <[b * w * 128]>
// CHECK-NEXT: %[[PRESENT:.*]] = rt.view %[[LAST]]
// CHECK-NEXT: rt.cache "write" %[[LAST]] {input = 0 : i64, output = 0 : i64}
// CHECK-NEXT: rt.call "GatherElements"({{.*}}) into(%[[PRESENT]] :
// CHECK: rt.call "Relu"
// CHECK: %[[COPIED:.*]] = rt.alloc <[b * w * 128]>
// CHECK-NEXT: rt.view %[[COPIED]]
// CHECK-NEXT: rt.cache "write" %[[COPIED]] {input = 1 : i64, output = 1 : i64}
// CHECK-NEXT: rt.call "Copy"
func.func @main(%past: !past {onnx.name = "past"}, %other: !past {onnx.name = "other"}, %x: !new, %n: !n, %rows: !rows)
    -> (!past {onnx.cache = {input = 0 : i64, kind = "write"}}, !past {onnx.cache = {input = 1 : i64, kind = "write"}}) {
  %joined = onnx.CacheAppend %past, %x, %n : (!past, !new, !n) -> !joined
  %last = onnx.GatherElements %joined, %rows {axis = 2 : i64} : (!joined, !rows) -> !past
  %y = onnx.Relu %other : (!past) -> !past
  return %last, %y : !past, !past
}
