// RUN: shard-opt %s --split-input-file --verify-diagnostics

rt.program @strides_missing {
  %b = rt.alloc <[64]>
  // expected-error@+1 {{expected}}
  %v = rt.view %b : <f32, [16], 0>
}

// -----

rt.program @odd_flag {
  %b = rt.alloc <[64]>
  // expected-error@+1 {{expected 'replicated'}}
  %v = rt.view %b : <f32, [16], [1], 0, shared>
}

// -----

// expected-error @+1 {{has 1 inputs, but 2 kinds}}
rt.kernel @two ["column", "row"] -> ["column"] {
^bb0(%x: f32):
  rt.yield %x : f32
}

// -----

// expected-error @+1 {{has an operand of kind "cell", expected "column" or "row"}}
rt.kernel @cell ["cell"] -> ["column"] {
^bb0(%x: f32):
  rt.yield %x : f32
}

// -----

rt.kernel @reduces ["column"] -> ["row"] {
^bb0(%x: f32):
  // expected-error @+1 {{reduces by "product", expected "sum", "max", "max_number" or "min"}}
  %y = rt.reduce "product" %x : f32
  rt.yield %y : f32
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @collective {
  %a = rt.alloc <[16]>
  %b = rt.alloc <[16]>
  %from = rt.view %a : <f32, [4], [1], 0>
  %to = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{"gather_all" is no collective}}
  rt.collective "gather_all" %from into %to over <["tp"=2]> : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @collective {
  %a = rt.alloc <[16]>
  %b = rt.alloc <[16]>
  %from = rt.view %a : <f32, [4], [1], 0>
  %to = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{"all_reduce" has no kind}}
  rt.collective "all_reduce" %from into %to over <["tp"=2]> : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @collective {
  %a = rt.alloc <[16]>
  %b = rt.alloc <[16]>
  %from = rt.view %a : <f32, [4], [1], 0>
  %to = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{"all_gather" has no split dim}}
  rt.collective "all_gather" %from into %to over <["tp"=2]> : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @collective {
  %a = rt.alloc <[16]>
  %b = rt.alloc <[16]>
  %from = rt.view %a : <f32, [4], [1], 0>
  %to = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{"all_gather" has a kind}}
  rt.collective "all_gather" %from into %to over <["tp"=2]> {dim = 0 : i64, kind = "sum", value = #dist.value<dims = [4], sharding = [{}]>} : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @collective {
  %a = rt.alloc <[16]>
  %b = rt.alloc <[16]>
  %from = rt.view %a : <f32, [4], [1], 0>
  %to = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{"shift" has no distance}}
  rt.collective "shift" %from into %to over <["tp"=2]> : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @collective {
  %a = rt.alloc <[16]>
  %b = rt.alloc <[16]>
  %from = rt.view %a : <f32, [4], [1], 0>
  %to = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{"dispatch" has no choice of experts}}
  rt.collective "dispatch" %from into %to over <["tp"=2]> {dim = 0 : i64, value = #dist.value<dims = [4], sharding = [{}]>} : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @collective {
  %a = rt.alloc <[16]>
  %b = rt.alloc <[16]>
  %from = rt.view %a : <f32, [4], [1], 0>
  %to = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{splits a dim that its value does not have}}
  rt.collective "all_gather" %from into %to over <["tp"=2]> {dim = 1 : i64, value = #dist.value<dims = [4], sharding = [{}]>} : !v -> !v
}
