// RUN: shard-opt %s --split-input-file --shardc-verify-phase="phase=staged allows-unrecorded=true" --verify-diagnostics

!x = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["pp"=2]>
func.func @stage0(%x: !x) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>} {
  // expected-error@+1 {{sends transfer 0, which no stage receives}}
  dist.send %x to 1 as 0 : !x
  return
}
func.func @stage1(%x: !x) -> !x attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>} {
  return %x : !x
}

// -----

!x = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["pp"=2]>
func.func @stage0(%x: !x) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>} {
  return
}
func.func @stage1(%x: !x) -> !x attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>} {
  // expected-error@+1 {{receives transfer 0, which no stage before sends}}
  %0 = dist.receive from 0 as 0 : !x
  return %0 : !x
}

// -----

!x = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>
!y = tensor<4x8xf32, #dist.value<dims = [4, 8], sharding = [{}, {}]>>
dist.mesh @mesh <["pp"=2]>
func.func @stage0(%x: !x) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>} {
  // expected-note@+1 {{sent here}}
  dist.send %x to 1 as 0 : !x
  return
}
func.func @stage1(%x: !x) -> !y attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>} {
  // expected-error@+1 {{does not fit its send: that is of}}
  %0 = dist.receive from 0 as 0 : !y
  return %0 : !y
}

// -----

!x = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["pp"=2]>
func.func @stage0(%x: !x) -> !x attributes {dist.stage = 0 : i64, dist.outputs = array<i64: 0>} {
  return %x : !x
}
// expected-error@+1 {{makes output 0, which an earlier stage makes}}
func.func @stage1(%x: !x) -> !x attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>} {
  return %x : !x
}

// -----

!x = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["pp"=2]>
// The other of two transfers was received: another function than was imported.
// expected-error@+1 {{does not compute what the imported model computes}}
func.func @stage0(%x: !x, %y: !x) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>, onnx.fingerprint = "0"} {
  dist.send %x to 1 as 0 : !x
  return
}
func.func @stage1(%x: !x, %y: !x) -> !x attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>, onnx.fingerprint = "0"} {
  %0 = dist.receive from 0 as 0 : !x
  return %0 : !x
}

// -----

!x = tensor<4x16xf32, #dist.value<dims = [4, 16], sharding = [{}, {}]>>
dist.mesh @mesh <["pp"=2]>
// expected-note@+1 {{the first stage}}
func.func @stage0(%x: !x {onnx.name = "x"}, %y: !x {onnx.name = "y"}) attributes {dist.stage = 0 : i64, dist.outputs = array<i64>} {
  return
}
// expected-error@+1 {{has other inputs than the first stage}}
func.func @stage1(%x: !x {onnx.name = "y"}, %y: !x {onnx.name = "x"}) -> !x attributes {dist.stage = 1 : i64, dist.outputs = array<i64: 0>} {
  %0 = onnx.Relu %y : (!x) -> !x
  return %0 : !x
}
