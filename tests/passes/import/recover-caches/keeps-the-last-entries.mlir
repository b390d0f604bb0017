// A cache that is as large afterwards has the last of what was joined; it may be kept in another type. Of another size, or of
// what was joined to no input, it is none.
// RUN: shard-opt %s --shardc-recover-caches | FileCheck %s

!past = tensor<?x1x?x16xf32, #dist.value<dims = [b, 1, w, 16]>>
!half = tensor<?x1x?x16xbf16, #dist.value<dims = [b, 1, w, 16]>>
!new = tensor<?x1x?x16xf32, #dist.value<dims = [b, 1, s, 16]>>
!newhalf = tensor<?x1x?x16xbf16, #dist.value<dims = [b, 1, s, 16]>>
!joined = tensor<?x1x?x16xf32, #dist.value<dims = [b, 1, w + s, 16]>>
!joinedhalf = tensor<?x1x?x16xbf16, #dist.value<dims = [b, 1, w + s, 16]>>
!rows = tensor<?x1x?x16xi64, #dist.value<dims = [b, 1, w, 16]>>
!few = tensor<?x1x?x16xi64, #dist.value<dims = [b, 1, s, 16]>>
!n = tensor<?xi64, #dist.value<dims = [b]>>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: -> ({{[^{]*}} {onnx.cache = {input = 0 : i64, kind = "write"}}, {{[^{]*}} {onnx.cache = {input = 1 : i64, kind = "write"}}, {{[^{]*}}, {{[^{]*}}) {
func.func @main(%past: !past {onnx.name = "past"}, %other: !past {onnx.name = "other"}, %larger: !past, %changed: !past,
                %x: !new, %narrow: !newhalf, %n: !n, %rows: !rows, %few: !few) -> (!past, !past, !new, !past) {
  %joined = onnx.CacheAppend %past, %x, %n : (!past, !new, !n) -> !joined
  %present = onnx.GatherElements %joined, %rows {axis = 2 : i64} : (!joined, !rows) -> !past

  %cast = onnx.Cast %other {to = 16 : i64} : (!past) -> !half
  %both = onnx.CacheAppend %cast, %narrow, %n : (!half, !newhalf, !n) -> !joinedhalf
  %last = onnx.GatherElements %both, %rows {axis = 2 : i64} : (!joinedhalf, !rows) -> !half
  %wide = onnx.Cast %last {to = 1 : i64} : (!half) -> !past

  %all = onnx.CacheAppend %larger, %x, %n : (!past, !new, !n) -> !joined
  %smaller = onnx.GatherElements %all, %few {axis = 2 : i64} : (!joined, !few) -> !new

  %y = onnx.Relu %changed : (!past) -> !past
  %behind = onnx.CacheAppend %y, %x, %n : (!past, !new, !n) -> !joined
  %none = onnx.GatherElements %behind, %rows {axis = 2 : i64} : (!joined, !rows) -> !past
  return %present, %wide, %smaller, %none : !past, !past, !new, !past
}
