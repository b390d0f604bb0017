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
