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
