// RUN: shard-opt %s --shardc-verify-phase="phase=sharded allows-unrecorded=true" --split-input-file --verify-diagnostics

dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{has a value without sharding: 'tensor<4xf32>'}}
func.func @bare(%x: tensor<4xf32>) {
  return
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{"dp"=2}]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{has a value with an impossible sharding}}
func.func @axis_of_no_mesh(%x: !x) {
  return
}

// -----

!x = tensor<2xf32, #dist.value<dims = [4], sharding = [{"tp"=2}], local = [2]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{has a value whose local sizes do not follow from its sharding}}
func.func @local_too_early(%x: !x) {
  return
}

// -----

!p = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
dist.mesh @mesh <["tp"=2]>
func.func @partial_output(%x: !p) -> !p {
  // expected-error@+1 {{returns a partial value}}
  return %x : !p
}

// -----

!p = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
dist.mesh @mesh <["tp"=2]>
func.func @collective_too_early(%p: !p) -> !x {
  // expected-error@+1 {{belongs to phase partitioned}}
  %y = dist.all_reduce %p over <["tp"=2]> "sum" : !p -> !x
  return %y : !x
}

// -----

dist.mesh @mesh <["tp"=2]>
func.func @foreign_op() {
  // expected-error@+1 {{is unknown in this phase}}
  call @foreign_op() : () -> ()
  return
}

// -----

!x = tensor<4x6xf32, #dist.value<dims = [4, 6], sharding = [{}, {"tp"=2}]>>
dist.mesh @mesh <["tp"=2]>
func.func @needs_whole(%x: !x) -> !x {
  // expected-error@+1 {{operand 0 dim 1 is split, but this op needs it whole}}
  %y = onnx.Softmax %x {axis = 1 : i64} : (!x) -> !x
  return %y : !x
}

// -----

!x = tensor<4x6xf32, #dist.value<dims = [4, 6], sharding = [{}, {"tp"=2}]>>
!w = tensor<4x6xf32, #dist.value<dims = [4, 6], sharding = [{}, {}]>>
dist.mesh @mesh <["tp"=2]>
func.func @factor_differs(%x: !x, %w: !w) -> !x {
  // expected-error@+1 {{operand 1 dim 1 is not split as the same factor elsewhere at this op}}
  %y = onnx.Add %x, %w : (!x, !w) -> !x
  return %y : !x
}

// -----

!x = tensor<12xf32, #dist.value<dims = [12], sharding = [(6, 2:"tp"=2)]>>
!y = tensor<4x3xf32, #dist.value<dims = [4, 3], sharding = [{}, {}]>>
dist.mesh @mesh <["tp"=2]>
func.func @no_factor(%x: !x) -> !y {
  // expected-error@+1 {{operand 0 dim 0 is split where this op has no factor}}
  %y = onnx.Reshape %x : (!x) -> !y
  return %y : !y
}

// -----

!a = tensor<4x6xf32, #dist.value<dims = [4, 6], sharding = [{"tp"=2}, {}]>>
!b = tensor<6x8xf32, #dist.value<dims = [6, 8], sharding = [{}, {"tp"=2}]>>
!y = tensor<4x8xf32, #dist.value<dims = [4, 8], sharding = [{"tp"=2}, {}]>>
dist.mesh @mesh <["tp"=2]>
func.func @diagonal(%a: !a, %b: !b) -> !y {
  // expected-error@+1 {{does not satisfy its sharding rule}}
  %y = onnx.MatMul %a, %b : (!a, !b) -> !y
  return %y : !y
}

// -----

!a = tensor<4x6xf32, #dist.value<dims = [4, 6], sharding = [{}, {"tp"=2}]>>
!b = tensor<6x8xf32, #dist.value<dims = [6, 8], sharding = [{"tp"=2}, {}]>>
!y = tensor<4x8xf32, #dist.value<dims = [4, 8], sharding = [{}, {}]>>
dist.mesh @mesh <["tp"=2]>
func.func @sum_forgotten(%a: !a, %b: !b) -> !y {
  // expected-error@+1 {{result 0 must be partial}}
  %y = onnx.MatMul %a, %b : (!a, !b) -> !y
  return %y : !y
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!p = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
dist.mesh @mesh <["tp"=2]>
func.func @sum_invented(%x: !x) -> !x {
  // expected-error@+1 {{result 0 must be no partial value}}
  %y = onnx.Relu %x : (!x) -> !p
  return %x : !x
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!p = tensor<4xf32, #dist.value<dims = [4], sharding = [{}], partial = {"tp"=2: sum}>>
dist.mesh @mesh <["tp"=2]>
func.func @added_by_all(%x: !x, %p: !p) -> !x {
  // expected-error@+1 {{operands may not be partial like this}}
  %y = onnx.Add %x, %p : (!x, !p) -> !p
  return %x : !x
}

// -----

!a = tensor<4x6xf32, #dist.value<dims = [4, 6], sharding = [{}, {"tp"=2}]>>
!b = tensor<6x8xf32, #dist.value<dims = [6, 8], sharding = [{"tp"=2}, {}]>>
!c = tensor<8xf32, #dist.value<dims = [8], sharding = [{}]>>
!y = tensor<4x8xf32, #dist.value<dims = [4, 8], sharding = [{}, {}], partial = {"tp"=2: sum}>>
dist.mesh @mesh <["tp"=2]>
func.func @bias_added_twice(%a: !a, %b: !b, %c: !c) -> !c {
  // expected-error@+1 {{the addend must be added once}}
  %y = onnx.Gemm %a, %b, %c : (!a, !b, !c) -> !y
  return %c : !c
}

// -----

!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
dist.mesh @mesh <["tp"=2]>
// expected-error@+1 {{does not compute what the imported model computes}}
func.func @main(%x: !x) -> !x attributes {onnx.fingerprint = "of another model"} {
  return %x : !x
}

// -----

// expected-error@+1 {{has no dist.mesh}}
module {
  func.func @main() {
    return
  }
}

// -----

!c = tensor<i1, #dist.value<dims = [], sharding = []>>
!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!s = tensor<4xf32, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
dist.mesh @mesh <["tp"=2]>
func.func @communicates(%c: !c, %x: !x) -> !x {
  %y = onnx.If %c, %x : (!c, !x) -> !x {
  ^bb0(%a: tensor<4xf32>):
    // expected-error@+1 {{stands in a body of control flow, which every rank runs whole}}
    %0 = dist.reshard %a : tensor<4xf32> to !s
    onnx.Yield %a : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    onnx.Yield %a : tensor<4xf32>
  }
  return %y : !x
}

// -----

!c = tensor<i1, #dist.value<dims = [], sharding = []>>
!x = tensor<4xf32, #dist.value<dims = [4], sharding = [{}]>>
!y = tensor<8xf32, #dist.value<dims = [8], sharding = [{}]>>
dist.mesh @mesh <["tp"=2]>
func.func @takes_something_else(%c: !c, %x: !x) -> !y {
  // expected-error@+1 {{has a body with an argument 'tensor<8xf32>' for an operand}}
  %y = onnx.If %c, %x : (!c, !x) -> !y {
  ^bb0(%a: tensor<8xf32>):
    onnx.Yield %a : tensor<8xf32>
  } else {
  ^bb0(%a: tensor<8xf32>):
    onnx.Yield %a : tensor<8xf32>
  }
  return %y : !y
}

// -----

!c = tensor<4xi1, #dist.value<dims = [4], sharding = [{"tp"=2}]>>
dist.mesh @mesh <["tp"=2]>
func.func @split_condition(%c: !c) {
  // expected-error@+1 {{does not satisfy its sharding rule}}
  onnx.If %c : (!c) -> () {
    onnx.Yield
  } else {
    onnx.Yield
  }
  return
}

// -----

!x = tensor<?xf32, #dist.value<dims = [seq], sharding = [{}]>>
!w = tensor<128xi64, #dist.value<dims = [128], sharding = [[seq: (seq:"cp"=2) | seq * -1 + 128: (seq * -1 + 128)]]>>
dist.mesh @mesh <["cp"=2]>
func.func @weight_split_by_an_input(%x: !x) -> !w {
  // expected-error@+1 {{is split by a size of the inputs, which is not known when it is loaded}}
  %w = onnx.Weight {file = "w", length = 1024 : i64, name = "w", offset = 0 : i64} : () -> !w
  return %w : !w
}

// -----

// 96 elements in shares of 3 and 1 are 72 and 24, 6 heads of 16 are 4 and 2.
!flat = tensor<96xf32, #dist.value<dims = [96], sharding = [{"tp"=2}]>>
!heads = tensor<6x16xf32, #dist.value<dims = [6, 16], sharding = [{"tp"=2}, {}]>>
dist.mesh @mesh <["tp"=2:[3, 1]]>
func.func @heads_cut_by_shares(%x: !flat) -> !heads {
  // expected-error@+1 {{is split where this op has no factor}}
  %y = onnx.Reshape %x : (!flat) -> !heads
  return %y : !heads
}

// -----

// 8 heads are 6 and 2: as many elements as those of the flat dim.
!flat = tensor<96xf32, #dist.value<dims = [96], sharding = [{"tp"=2}]>>
!heads = tensor<8x12xf32, #dist.value<dims = [8, 12], sharding = [{"tp"=2}, {}]>>
dist.mesh @mesh <["tp"=2:[3, 1]]>
func.func @heads_as_shares_are(%x: !flat) -> !heads {
  %y = onnx.Reshape %x : (!flat) -> !heads
  return %y : !heads
}

// -----

// Rows of a matrix whose sums are to stay whole.
!x = tensor<?x8xf32, #dist.value<dims = [s, 8], sharding = [{}, {"tp"=2}]>>
!w = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{"tp"=2}, {}]>>
!y = tensor<?x4xf32, #dist.value<dims = [s, 4], sharding = [{}, {}], partial = {"tp"=2: sum}>>
!sum = tensor<?x4xf32, #dist.value<dims = [s, 4], sharding = [{}, {}]>>
dist.mesh @mesh <["tp"=2]>
func.func @shares_out_a_sum(%x: !x) -> !sum {
  %w = onnx.Weight {file = "m", offset = 0, length = 128, name = "w"} : () -> !w
  // expected-error@+1 {{does not satisfy its sharding rule}}
  %y = onnx.MatMul %x, %w {onnx.whole_sums} : (!x, !w) -> !y
  %sum = dist.reshard %y : !y to !sum
  return %sum : !sum
}

// -----

// Parts of a sum, each computed with before they are added up: another order than on one rank.
!x = tensor<?x8xf32, #dist.value<dims = [s, 8], sharding = [{}, {"tp"=2}]>>
!w = tensor<8x4xf32, #dist.value<dims = [8, 4], sharding = [{"tp"=2}, {}]>>
!y = tensor<?x4xf32, #dist.value<dims = [s, 4], sharding = [{}, {}], partial = {"tp"=2: sum}>>
!sum = tensor<?x4xf32, #dist.value<dims = [s, 4], sharding = [{}, {}]>>
module attributes {onnx.whole_sums} {
  dist.mesh @mesh <["tp"=2]>
  func.func @computes_with_parts(%x: !x) -> !sum {
    %w = onnx.Weight {file = "m", offset = 0, length = 128, name = "w"} : () -> !w
    %y = onnx.MatMul %x, %w : (!x, !w) -> !y
    // expected-error@+1 {{does not satisfy its sharding rule}}
    %z = onnx.Neg %y : (!y) -> !y
    %sum = dist.reshard %z : !y to !sum
    return %sum : !sum
  }
}
