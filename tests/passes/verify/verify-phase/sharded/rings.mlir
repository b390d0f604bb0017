// What comes in turn is never whole: only an op that takes it in turn may use it, and keys
// and values must come in the same parts and order.
// RUN: shard-opt %s --shardc-verify-phase="phase=sharded allows-unrecorded=true" --split-input-file --verify-diagnostics

!q = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {"cp"=2}, {}]>>
!w = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {}, {}]>>
dist.mesh @mesh <["cp"=2]>
func.func @attention(%q: !q, %k: !q) -> !q {
  %kr = dist.ring %k dim 2 over <["cp"=2]> steps [0, 1] : !q -> !w
  %y = onnx.Attention %q, %kr, %kr {scale = 5.000000e-01 : f32} : (!q, !w, !w) -> !q
  return %y : !q
}

// -----

!q = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {"cp"=2}, {}]>>
!w = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {}, {}]>>
dist.mesh @mesh <["cp"=2]>
func.func @another_op(%k: !q) -> !w {
  // expected-error@+1 {{gives the parts of dim 2 one after the other}}
  %kr = dist.ring %k dim 2 over <["cp"=2]> steps [0, 1] : !q -> !w
  // expected-note@+1 {{to an op that needs all of it}}
  %y = onnx.Relu %kr : (!w) -> !w
  return %y : !w
}

// -----

!q = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {"cp"=2}, {}]>>
!w = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {}, {}]>>
dist.mesh @mesh <["cp"=2]>
func.func @an_output(%k: !q) -> !w {
  // expected-error@+1 {{gives the parts of dim 2 one after the other}}
  %kr = dist.ring %k dim 2 over <["cp"=2]> steps [0, 1] : !q -> !w
  // expected-note@+1 {{to an op that needs all of it}}
  return %kr : !w
}

// -----

!q = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {"cp"=2}, {}]>>
!w = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {}, {}]>>
dist.mesh @mesh <["cp"=2]>
func.func @queries_in_turn(%q: !q, %k: !w) -> !w {
  // expected-error@+1 {{gives the parts of dim 2 one after the other}}
  %qr = dist.ring %q dim 2 over <["cp"=2]> steps [0, 1] : !q -> !w
  // expected-note@+1 {{to an op that needs all of it}}
  %y = onnx.Attention %qr, %k, %k {scale = 5.000000e-01 : f32} : (!w, !w, !w) -> !w
  return %y : !w
}

// -----

!q = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {"cp"=3}, {}]>>
!w = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {}, {}]>>
dist.mesh @mesh <["cp"=3]>
func.func @other_order(%q: !q, %k: !q, %v: !q) -> !q {
  // expected-error@+1 {{does not give the same parts in the same order as another ring}}
  %kr = dist.ring %k dim 2 over <["cp"=3]> steps [0, 2, 1] : !q -> !w
  // expected-note@+1 {{whose result the same op uses}}
  %vr = dist.ring %v dim 2 over <["cp"=3]> steps [0, 1, 2] : !q -> !w
  %y = onnx.Attention %q, %kr, %vr {scale = 5.000000e-01 : f32} : (!q, !w, !w) -> !q
  return %y : !q
}

// -----

!q = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {"cp"=2}, {}]>>
!z = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, [4: (4:"cp"=2) | 4: (4:-"cp"=2)], {}]>>
!w = tensor<1x2x8x4xf32, #dist.value<dims = [1, 2, 8, 4], sharding = [{}, {}, {}, {}]>>
dist.mesh @mesh <["cp"=2]>
func.func @other_parts(%q: !q, %k: !q, %v: !z) -> !q {
  // expected-error@+1 {{does not give the same parts in the same order as another ring}}
  %kr = dist.ring %k dim 2 over <["cp"=2]> steps [0, 1] : !q -> !w
  // expected-note@+1 {{whose result the same op uses}}
  %vr = dist.ring %v dim 2 over <["cp"=2]> steps [0, 1] : !z -> !w
  %y = onnx.Attention %q, %kr, %vr {scale = 5.000000e-01 : f32} : (!q, !w, !w) -> !q
  return %y : !q
}
