// RUN: shard-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{mesh axes have different names and sizes of at least 1}}
dist.mesh @mesh <["tp"=0]>

// -----

// expected-error@+1 {{mesh axes have different names and sizes of at least 1}}
dist.mesh @mesh <["tp"=2, "tp"=2]>

// -----

// expected-error@+1 {{shares: tp has 2 ways; name 2 numbers}}
dist.mesh @mesh <["tp"=2:[3, 1, 1]]>

// -----

// expected-error@+1 {{shares: tp has 2 ways; expected for each a number from 1 to 1000}}
dist.mesh @mesh <["tp"=2:[3, 0]]>

// -----

// expected-error@+1 {{shares: dp splits no value; expected an axis that does}}
dist.mesh @mesh <["dp"=2:[3, 1]]>

// -----

// expected-error@+1 {{expected a size}}
module attributes {a = #dist.dims<[seq * ]>} {}

// -----

// expected-error@+1 {{division of a size by 0}}
module attributes {a = #dist.dims<[seq floordiv 0]>} {}

// -----

// expected-error@+1 {{more dims sharded than there are}}
func.func private @f(tensor<4xf32, #dist.value<dims = [4], sharding = [{}, {}]>>)

// -----

// expected-error@+1 {{expected a sharding for each dim}}
func.func private @f(tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{}]>>)

// -----

// expected-error@+1 {{expected sum, max or min}}
func.func private @f(tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: mean}>>)

// -----

// expected-error@+1 {{expected sharding, partial or local}}
func.func private @f(tensor<4xf32, #dist.value<dims = [4], shards = [{}]>>)

// -----

// expected-error@+1 {{expected}}
func.func private @f(tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"}]>>)

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!y = tensor<5xf32, #dist.value<dims = [5], sharding = [{}]>>
func.func @f(%x: !x) {
  // expected-error@+1 {{must keep element type and global sizes}}
  %y = dist.reshard %x : !x to !y
  return
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
!y = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
func.func @f(%x: !x) {
  // expected-error@+1 {{has kind "mean", expected sum, max or min}}
  %y = dist.all_reduce %x over <["tp"=2]> "mean" : !x -> !y
  return
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
!y = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
func.func @f(%x: !x) {
  // expected-error@+1 {{does not apply to an operand with sharding [{}], partial = {"tp"=2: sum}}}
  %y = dist.all_reduce %x over <["tp"=2]> "max" : !x -> !y
  return
}

// -----

!x = tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{"tp"=2}, {"dp"=2}]>>
!y = tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{}, {}]>>
func.func @f(%x: !x) {
  // expected-error@+1 {{gives sharding [{}, {"dp"=2}], but its result type says [{}, {}]}}
  %y = dist.all_gather %x dim 0 over <["tp"=2]> : !x -> !y
  return
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=4}]>>
!y = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp":(2)2}]>>
func.func @gathers_major(%x: !x) {
  // expected-error@+1 {{does not apply to an operand}}
  %y = dist.all_gather %x dim 0 over <["tp"=2]> : !x -> !y
  return
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
!y = tensor<4xf32, #dist.value<dims = [4], sharding = [{"dp"=2}]>>
func.func @f(%x: !x) {
  // expected-error@+1 {{does not turn}}
  %y = dist.reduce_scatter %x dim 0 over <["tp"=2]> "sum" : !x -> !y
  return
}

// -----

!x = tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{"tp"=2}, {}]>>
!y = tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{}, {"tp"=2}]>>
func.func @f(%x: !x) {
  // expected-error@+1 {{can only split further what each rank holds}}
  %y = dist.slice %x : !x -> !y
  return
}

// -----

!p = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
func.func @f(%p: !p) {
  // expected-error@+1 {{does not apply to an operand}}
  %y = dist.once %p over <["tp"=2]> : !p -> !p
  return
}

// -----

!x = tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{"tp"=2}, {}]>>
!y = tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{}, {"tp"=2}]>>
func.func @f(%x: !x) {
  // expected-error@+1 {{does not turn [{"tp"=2}, {}] into [{}, {"tp"=2}]}}
  %y = dist.all_to_all %x dim 1 to 0 over <["tp"=2]> : !x -> !y
  return
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
!y = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
func.func @sees_a_part_twice(%x: !x) {
  // expected-error@+1 {{has steps 0, 0, expected each of 0 to 1 once, 0 first}}
  %y = dist.ring %x dim 0 over <["tp"=2]> steps [0, 0] : !x -> !y
  return
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
!y = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
func.func @sees_a_part_less(%x: !x) {
  // expected-error@+1 {{has steps 0, expected each of 0 to 1 once, 0 first}}
  %y = dist.ring %x dim 0 over <["tp"=2]> steps [0] : !x -> !y
  return
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
!y = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
func.func @starts_with_another(%x: !x) {
  // expected-error@+1 {{has steps 1, 0, expected each of 0 to 1 once, 0 first}}
  %y = dist.ring %x dim 0 over <["tp"=2]> steps [1, 0] : !x -> !y
  return
}

// -----

!x = tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{"tp"=2}, {}]>>
!y = tensor<4x4xf32, #dist.value<dims = [4, 4], sharding = [{}, {}]>>
func.func @of_another_dim(%x: !x) {
  // expected-error@+1 {{does not apply to an operand}}
  %y = dist.ring %x dim 1 over <["tp"=2]> steps [0, 1] : !x -> !y
  return
}

// -----

!x = tensor<8xf32, #dist.value<dims = [8], sharding = [(2, 4:"tp"=2)]>>
!y = tensor<8xf32, #dist.value<dims = [8], sharding = [{}]>>
func.func @parts_in_pieces(%x: !x) {
  // expected-error@+1 {{needs parts that are one range of each segment}}
  %y = dist.ring %x dim 0 over <["tp"=2]> steps [0, 1] : !x -> !y
  return
}

// -----

!x = tensor<8xf32, #dist.value<dims = [8], sharding = [{"cp"=2 + "tp"=2}]>>
!y = tensor<8xf32, #dist.value<dims = [8], sharding = [{"cp"=2}]>>
func.func @over_some_of_the_axes(%x: !x) {
  // expected-error@+1 {{over its axes alone}}
  %y = dist.ring %x dim 0 over <["tp"=2]> steps [0, 1] : !x -> !y
  return
}
