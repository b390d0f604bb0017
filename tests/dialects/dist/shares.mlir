// Unequal parts of the ways of an axis: without a common divisor, and none where
// they are equal.
// RUN: shard-opt %s --split-input-file | shard-opt --split-input-file | FileCheck %s

// CHECK: dist.mesh @mesh <["dp"=2, "cp"=3:[5, 2, 1], "tp"=2:[3, 1]]>
dist.mesh @mesh <["dp"=2, "cp"=3:[5, 2, 1], "tp"=2:[6, 2]]>

// -----

// CHECK: dist.mesh @mesh <["cp"=1, "tp"=3]>
dist.mesh @mesh <["cp"=1:[4], "tp"=3:[7, 7, 7]]>
