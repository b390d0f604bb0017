// Without one nothing says what later phases have to compute.
// RUN: not shard-opt %s --shardc-verify-phase=phase=imported 2>&1 | FileCheck %s
// RUN: shard-opt %s --shardc-fingerprint --shardc-verify-phase=phase=imported -o /dev/null

// CHECK: error: lacks the onnx.fingerprint of the imported model
// CHECK: note: `shard-opt --shardc-fingerprint` records that of an imported model
!x = tensor<4xf32, #dist.value<dims = [4]>>
func.func @main(%x: !x) -> !x {
  return %x : !x
}
