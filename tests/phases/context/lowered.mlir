// The ring: attention to a rank's own keys first, then to those of the other one. Pieces
// are places and sizes within the sequence, by which causality goes; the state that the
// calls share is the result itself, not divided by the sum of its weights yet.
//
// RUN: shard-opt %S/imported.mlir --shardc-fingerprint --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-lower --shardc-verify-phase=phase=lowered | FileCheck %s

// CHECK: rt.collective "all_to_all" {{.*}}dim = 2 : i64, {{.*}}to_dim = 2 : i64
// CHECK: rt.call "AttentionPart"(%[[Q:[^,]*]], %[[K:[^,]*]], %[[V:[^ ]*]] : {{.*}} into(%[[STATE:[^,]*]], %[[STATS:[^ ]*]] : {{.*}} {{{.*}}key_pieces = #dist.dims<[{{.*}}query_pieces = #dist.dims<[
// CHECK: rt.collective "shift" %[[K]] into %[[K1:.*]] over <["cp"=2]> {distance = 1 : i64
// CHECK: rt.collective "shift" %[[V]] into %[[V1:.*]] over <["cp"=2]> {distance = 1 : i64
// CHECK: rt.call "AttentionPart"(%[[Q]], %[[K1]], %[[V1]], %{{[^,]*}}, %[[STATE]], %[[STATS]] : {{.*}} into(%[[STATE]], %[[STATS]] :
// CHECK: rt.call "AttentionFinish"(%[[STATE]], %[[STATS]] : {{.*}} into(%[[STATE]] :
// CHECK: rt.collective "all_to_all" %[[STATE]]
