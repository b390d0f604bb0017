// RUN: shard-opt %s --shardc-verify-phase=phase=packed --verify-diagnostics

// expected-error@+1 {{unknown phase "packed": expected imported, sharded, staged, partitioned or lowered}}
module {
  dist.mesh @mesh <["tp"=2]>
}
