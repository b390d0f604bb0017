// RUN: shard-opt %s --shardc-verify-phase="phase=partitioned allows-unrecorded=true" --split-input-file --verify-diagnostics

!p = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!lp = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}, local = [4]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
func.func @stage0(%x: !lp) -> !lx attributes {dist.sharded = @sharded} {
  // expected-error@+1 {{is left to plan}}
  %y = dist.reshard %x : !lp to !lx
  return %y : !lx
}
func.func private @sharded(%x: !p) -> !x {
  %y = dist.reshard %x : !p to !x
  return %y : !x
}

// -----

!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{has lost its sharded function @gone}}
func.func @stage0(%x: !lx) -> !lx attributes {dist.sharded = @gone} {
  return %x : !lx
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{has a value whose local sizes do not follow from its sharding}}
func.func @stage0(%x: !lx) -> !lx attributes {dist.sharded = @sharded} {
  return %x : !lx
}
func.func private @sharded(%x: !x) -> !x {
  return %x : !x
}

// -----

!p = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!lp = tensor<2xf32, #dist.value<dims = [4], sharding = [{"tp"=2}], local = [2]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
func.func @stage0(%x: !lp) -> !lp attributes {dist.sharded = @sharded} {
  // expected-error@+1 {{is not needed: nobody uses its result}}
  %y = dist.all_gather %x dim 0 over <["tp"=2]> : !lp -> !lx
  return %x : !lp
}
func.func private @sharded(%x: !p) -> !p {
  return %x : !p
}

// -----

!p = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!lp = tensor<2xf32, #dist.value<dims = [4], sharding = [{"tp"=2}], local = [2]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
func.func @stage0(%x: !lp) -> (!lx, !lx) attributes {dist.sharded = @sharded} {
  // expected-note@+1 {{here}}
  %y = dist.all_gather %x dim 0 over <["tp"=2]> : !lp -> !lx
  // expected-error@+1 {{is not needed: the same was done before}}
  %z = dist.all_gather %x dim 0 over <["tp"=2]> : !lp -> !lx
  return %y, %z : !lx, !lx
}
func.func private @sharded(%x: !p) -> (!x, !x) {
  %y = dist.reshard %x : !p to !x
  return %y, %y : !x, !x
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{output 1 does not compute what the sharded function computes}}
func.func @stage0(%x: !lx, %z: !lx) -> (!lx, !lx) attributes {dist.sharded = @sharded} {
  %y = onnx.Relu %x : (!lx) -> !lx
  return %y, %x : !lx, !lx
}
func.func private @sharded(%x: !x, %z: !x) -> (!x, !x) {
  %y = onnx.Relu %x : (!x) -> !x
  return %y, %z : !x, !x
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{or guards than the sharded function}}
func.func @stage0(%x: !lx) -> !lx attributes {dist.sharded = @sharded} {
  return %x : !lx
}
func.func private @sharded(%x: !x) -> !x {
  onnx.Guard #dist.dims<[s]> "at_least" #dist.dims<[1]> "a Reshape needs it"
  return %x : !x
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
!ls = tensor<2xf32, #dist.value<dims = [4], sharding = [{"tp"=2}], local = [2]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{output 0 is held in another sharding than the sharded function says}}
func.func @stage0(%x: !lx) -> !ls attributes {dist.sharded = @sharded} {
  %y = dist.slice %x : !lx -> !ls
  return %y : !ls
}
func.func private @sharded(%x: !x) -> !x {
  return %x : !x
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!s = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
!ls = tensor<2xf32, #dist.value<dims = [4], sharding = [{"tp"=2}], local = [2]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{input 0 is held in another sharding than the sharded function says}}
func.func @stage0(%x: !ls) -> !ls attributes {dist.sharded = @sharded} {
  return %x : !ls
}
func.func private @sharded(%x: !x) -> !s {
  %y = dist.reshard %x : !x to !s
  return %y : !s
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{has other inputs, outputs, names or guards than the sharded function}}
func.func @stage0(%x: !lx {onnx.name = "x"}, %unused: !lx {onnx.name = "z"}) -> !lx attributes {dist.sharded = @sharded} {
  return %x : !lx
}
func.func private @sharded(%x: !x {onnx.name = "x"}, %unused: !x {onnx.name = "y"}) -> !x {
  return %x : !x
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{is computed by no program}}
func.func private @sharded(%x: !x) -> !x {
  return %x : !x
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{has another dist.batch_inputs than the sharded function}}
func.func @stage0(%x: !lx) -> !lx attributes {dist.sharded = @sharded, dist.batch_inputs = array<i64: 0>} {
  return %x : !lx
}
func.func private @sharded(%x: !x) -> !x {
  return %x : !x
}

// -----

!lx = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], local = [4]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{has lost its sharded function @stage1}}
func.func @stage0(%x: !lx) -> !lx attributes {dist.sharded = @stage1} {
  return %x : !lx
}
func.func @stage1(%x: !lx) -> !lx attributes {dist.sharded = @stage0} {
  return %x : !lx
}

// -----

// Local sizes of equal parts on a mesh whose parts are 3 and 1.
!x = tensor<8xf32, #dist.value<dims = [8], sharding = [{"tp"=2}]>>
!lx = tensor<4xf32, #dist.value<dims = [8], sharding = [{"tp"=2}], local = [4]>>
dist.mesh @mesh <["tp"=2:[3, 1]]>
// expected-error@+1 {{has a value whose local sizes do not follow from its sharding}}
func.func @stage0(%x: !lx) -> !lx attributes {dist.sharded = @sharded} {
  return %x : !lx
}
func.func private @sharded(%x: !x) -> !x {
  return %x : !x
}

// -----

// The parts of the ranks the other way round.
!x = tensor<8xf32, #dist.value<dims = [8], sharding = [{"tp"=2}]>>
!lx = tensor<?xf32, #dist.value<dims = [8], sharding = [{"tp"=2}], local = [@tp * -4 + 6]>>
dist.mesh @mesh <["tp"=2:[1, 3]]>
// expected-error@+1 {{has a value whose local sizes do not follow from its sharding}}
func.func @stage0(%x: !lx) -> !lx attributes {dist.sharded = @sharded} {
  return %x : !lx
}
func.func private @sharded(%x: !x) -> !x {
  return %x : !x
}
