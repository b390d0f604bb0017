// RUN: shard-opt %s --shardc-verify-phase=phase=lowered --split-input-file --verify-diagnostics

rt.program @frees_input {
  rt.ready
  %x = rt.input 0 "x" f32 <dims = [4]>
  // expected-error@+1 {{frees a buffer that is not in the arena}}
  rt.free %x
}

// -----

rt.program @frees_persistent {
  %b = rt.alloc <[16]> persistent
  rt.ready
  // expected-error@+1 {{frees a buffer that is not in the arena}}
  rt.free %b
}

// -----

rt.program @frees_twice {
  rt.ready
  %b = rt.alloc <[16]>
  rt.free %b
  // expected-error@+1 {{frees a buffer twice}}
  rt.free %b
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @no_view {
  rt.ready
  %none = rt.absent
  %b = rt.alloc <[16]>
  %v = rt.view %b : <f32, [4], [1], 0>
  %w = builtin.unrealized_conversion_cast %v : !v to !v
  // expected-error@+1 {{has an operand that is no view on a buffer}}
  rt.call "Relu"(%w : !v) into(%v : !v) {}
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @used_after_free {
  rt.ready
  %x = rt.input 0 "x" f32 <dims = [4]>
  %from = rt.view %x : <f32, [4], [1], 0>
  %b = rt.alloc <[16]>
  %v = rt.view %b : <f32, [4], [1], 0>
  rt.call "Relu"(%from : !v) into(%v : !v) {}
  rt.free %b
  // expected-error@+1 {{uses a buffer after it was freed}}
  rt.output 0 "y" %v <dims = [4]> : <f32, [4], [1], 0>
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @request_at_load {
  %x = rt.input 0 "x" f32 <dims = [4]>
  %from = rt.view %x : <f32, [4], [1], 0>
  %b = rt.alloc <[16]> persistent
  %v = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{runs at load but uses a buffer of a request}}
  rt.call "Relu"(%from : !v) into(%v : !v) {}
  rt.ready
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @read_before_written {
  rt.ready
  %a = rt.alloc <[16]>
  %b = rt.alloc <[16]>
  %from = rt.view %a : <f32, [4], [1], 0>
  %to = rt.view %b : <f32, [4], [1], 0>
  // expected-error@+1 {{reads a buffer before it was written}}
  rt.collective "all_reduce" %from into %to over <["tp"=2]> {kind = "sum"} : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @writes_weight {
  %w = rt.weight "w" "file" at 0 length 16 f32 <dims = [4]>
  %v = rt.view %w : <f32, [4], [1], 0>
  // expected-error@+1 {{writes a buffer that is not its own}}
  rt.call "Relu"(%v : !v) into(%v : !v) {}
  rt.ready
}

// -----

!v = !rt.view<f32, [4], [1], 0>
!c = !rt.view<i1, [], [], 0>
rt.program @written_in_one_branch {
  rt.ready
  %x = rt.input 0 "x" f32 <dims = [4]>
  %from = rt.view %x : <f32, [4], [1], 0>
  %i = rt.input 1 "c" i1 <dims = []>
  %c = rt.view %i : <i1, [], [], 0>
  %b = rt.alloc <[16]>
  %v = rt.view %b : <f32, [4], [1], 0>
  rt.if %c : <i1, [], [], 0>
  rt.call "Relu"(%from : !v) into(%v : !v) {}
  rt.else
  rt.end
  // expected-error@+1 {{reads a buffer before it was written}}
  rt.output 0 "y" %v <dims = [4]> : <f32, [4], [1], 0>
}

// -----

!v = !rt.view<f32, [4], [1], 0>
rt.program @written_in_a_loop {
  rt.ready
  %x = rt.input 0 "x" f32 <dims = [4]>
  %from = rt.view %x : <f32, [4], [1], 0>
  %i = rt.input 1 "c" i1 <dims = []>
  %c = rt.view %i : <i1, [], [], 0>
  %b = rt.alloc <[16]>
  %v = rt.view %b : <f32, [4], [1], 0>
  rt.loop %c : <i1, [], [], 0>
  rt.call "Relu"(%from : !v) into(%v : !v) {}
  rt.end
  // expected-error@+1 {{reads a buffer before it was written}}
  rt.output 0 "y" %v <dims = [4]> : <f32, [4], [1], 0>
}

// -----

rt.program @without_end {
  rt.ready
  %i = rt.input 1 "c" i1 <dims = []>
  %c = rt.view %i : <i1, [], [], 0>
  // expected-error@+1 {{has no rt.end}}
  rt.loop %c : <i1, [], [], 0>
}

// -----

rt.program @else_of_a_loop {
  rt.ready
  %i = rt.input 1 "c" i1 <dims = []>
  %c = rt.view %i : <i1, [], [], 0>
  rt.loop %c : <i1, [], [], 0>
  // expected-error@+1 {{has no op that it belongs to}}
  rt.else
  rt.end
}

// -----

rt.program @if_without_else {
  rt.ready
  %i = rt.input 1 "c" i1 <dims = []>
  %c = rt.view %i : <i1, [], [], 0>
  rt.if %c : <i1, [], [], 0>
  // expected-error@+1 {{has no op that it belongs to}}
  rt.end
}

// -----

!v = !rt.view<f32, [4], [1], 0>
dist.mesh @mesh <["tp"=2]>
rt.program @reads_what_is_in_flight {
  rt.ready
  %i = rt.input 0 "x" f32 <dims = [4]>
  %x = rt.view %i : <f32, [4], [1], 0>
  %0 = rt.alloc <[16]>
  %a = rt.view %0 : <f32, [4], [1], 0>
  %1 = rt.alloc <[16]>
  %b = rt.view %1 : <f32, [4], [1], 0>
  rt.call "Relu"(%x : !v) into(%a : !v) {}
  rt.collective "all_reduce" %a into %b over <["tp"=2]> {flight = 0 : i64, kind = "sum"} : !v -> !v
  %2 = rt.alloc <[16]>
  %c = rt.view %2 : <f32, [4], [1], 0>
  // expected-error@+1 {{touches a buffer of a collective in flight}}
  rt.call "Relu"(%b : !v) into(%c : !v) {}
  rt.wait 0 for %a into %b : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
dist.mesh @mesh <["tp"=2]>
rt.program @writes_what_is_sent {
  rt.ready
  %i = rt.input 0 "x" f32 <dims = [4]>
  %x = rt.view %i : <f32, [4], [1], 0>
  %0 = rt.alloc <[16]>
  %a = rt.view %0 : <f32, [4], [1], 0>
  %1 = rt.alloc <[16]>
  %b = rt.view %1 : <f32, [4], [1], 0>
  rt.call "Relu"(%x : !v) into(%a : !v) {}
  rt.collective "all_reduce" %a into %b over <["tp"=2]> {flight = 0 : i64, kind = "sum"} : !v -> !v
  // expected-error@+1 {{touches a buffer of a collective in flight}}
  rt.call "Relu"(%x : !v) into(%a : !v) {}
  rt.wait 0 for %a into %b : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
dist.mesh @mesh <["tp"=2]>
rt.program @is_not_awaited {
  rt.ready
  %i = rt.input 0 "x" f32 <dims = [4]>
  %x = rt.view %i : <f32, [4], [1], 0>
  %0 = rt.alloc <[16]>
  %a = rt.view %0 : <f32, [4], [1], 0>
  %1 = rt.alloc <[16]>
  %b = rt.view %1 : <f32, [4], [1], 0>
  rt.call "Relu"(%x : !v) into(%a : !v) {}
  // expected-error@+1 {{is not awaited in time}}
  rt.collective "all_reduce" %a into %b over <["tp"=2]> {flight = 0 : i64, kind = "sum"} : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
dist.mesh @mesh <["tp"=2]>
rt.program @starts_twice {
  rt.ready
  %i = rt.input 0 "x" f32 <dims = [4]>
  %x = rt.view %i : <f32, [4], [1], 0>
  %0 = rt.alloc <[16]>
  %a = rt.view %0 : <f32, [4], [1], 0>
  %1 = rt.alloc <[16]>
  %b = rt.view %1 : <f32, [4], [1], 0>
  rt.call "Relu"(%x : !v) into(%a : !v) {}
  rt.collective "all_reduce" %a into %b over <["tp"=2]> {flight = 0 : i64, kind = "sum"} : !v -> !v
  // expected-error@+1 {{starts a flight that is under way}}
  rt.collective "all_reduce" %a into %b over <["tp"=2]> {flight = 0 : i64, kind = "sum"} : !v -> !v
  rt.wait 0 for %a into %b : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
dist.mesh @mesh <["tp"=2]>
rt.program @waits_for_nothing {
  rt.ready
  %i = rt.input 0 "x" f32 <dims = [4]>
  %x = rt.view %i : <f32, [4], [1], 0>
  %0 = rt.alloc <[16]>
  %a = rt.view %0 : <f32, [4], [1], 0>
  %1 = rt.alloc <[16]>
  %b = rt.view %1 : <f32, [4], [1], 0>
  rt.call "Relu"(%x : !v) into(%a : !v) {}
  // expected-error@+1 {{waits for a flight that was not started}}
  rt.wait 0 for %a into %b : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
dist.mesh @mesh <["tp"=2]>
rt.program @waits_for_others {
  rt.ready
  %i = rt.input 0 "x" f32 <dims = [4]>
  %x = rt.view %i : <f32, [4], [1], 0>
  %0 = rt.alloc <[16]>
  %a = rt.view %0 : <f32, [4], [1], 0>
  %1 = rt.alloc <[16]>
  %b = rt.view %1 : <f32, [4], [1], 0>
  rt.call "Relu"(%x : !v) into(%a : !v) {}
  rt.collective "all_reduce" %a into %b over <["tp"=2]> {flight = 0 : i64, kind = "sum"} : !v -> !v
  // expected-error@+1 {{has other operands than what it waits for}}
  rt.wait 0 for %x into %b : !v -> !v
}

// -----

!v = !rt.view<f32, [4], [1], 0>
dist.mesh @mesh <["tp"=2]>
rt.program @is_awaited_behind_sizes {
  rt.ready
  %i = rt.input 0 "x" f32 <dims = [4]>
  %x = rt.view %i : <f32, [4], [1], 0>
  %0 = rt.alloc <[16]>
  %a = rt.view %0 : <f32, [4], [1], 0>
  %1 = rt.alloc <[16]>
  %b = rt.view %1 : <f32, [4], [1], 0>
  rt.call "Relu"(%x : !v) into(%a : !v) {}
  %2 = rt.alloc <[8]>
  %n = rt.view %2 : <i64, [1], [1], 0>
  rt.call "Size"(%x : !v) into(%n : !rt.view<i64, [1], [1], 0>) {}
  // expected-error@+1 {{is not awaited in time}}
  rt.collective "all_reduce" %a into %b over <["tp"=2]> {flight = 0 : i64, kind = "sum"} : !v -> !v
  rt.read_sizes %n <[n]> : <i64, [1], [1], 0>
  rt.wait 0 for %a into %b : !v -> !v
}
