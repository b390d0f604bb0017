// The kernel gets the numbers of the experts that its rank has.
//
// RUN: shard-opt %S/imported.mlir --shardc-fingerprint --shardc-propagate-shardings --shardc-cut-stages --shardc-partition --shardc-lower --shardc-verify-phase=phase=lowered | FileCheck %s

// CHECK: rt.call "MixtureOfExperts"
// CHECK: rt.collective "all_reduce" {{.*}} over <["ep"=2]>
// CHECK: rt.output
