// Polynomials over symbols and coordinates in one canonical order, and what is
// no polynomial as an atom of it.
// RUN: shard-opt %s | shard-opt | FileCheck %s

// CHECK: a = #dist.dims<[batch, batch * seq, 96]>
// CHECK-SAME: b = #dist.dims<[past + seq + 1, 0]>
// CHECK-SAME: c = #dist.dims<[((@tp * 6) floordiv 4), min(seq, 8), max(seq, 8), (seq mod 4)]>
// CHECK-SAME: d = #dist.dims<[]>
// CHECK-SAME: e = #dist.dims<["odd name", seq * seq - 1]>
dist.mesh @mesh <["tp"=2]> {
  a = #dist.dims<[batch, seq * batch, 96]>,
  b = #dist.dims<[1 + seq + past, seq - seq]>,
  c = #dist.dims<[(6 * @tp) floordiv 4, min(seq, 8), max(seq, 8), seq mod 4]>,
  d = #dist.dims<[]>,
  e = #dist.dims<["odd name", (seq - 1) * (seq + 1)]>
}
