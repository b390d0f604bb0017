// RUN: shard-opt %s --shardc-verify-phase="phase=imported allows-unrecorded=true" --split-input-file --verify-diagnostics

func.func @unknown_type(%x: tensor<4xf32>) {
  // expected-error@+1 {{has a value of unknown type: 'tensor<*x!onnx.unknown>'}}
  %y = onnx.Relu %x : (tensor<4xf32>) -> tensor<*x!onnx.unknown>
  return
}

// -----

// expected-error@+1 {{has a value of unknown size: 'tensor<?xf32>'}}
func.func @unknown_size(%x: tensor<?xf32>) {
  return
}

// -----


func.func @foreign_op() {
  // expected-error@+1 {{is not an op of phase imported}}
  call @foreign_op() : () -> ()
  return
}

// -----

func.func @sees_around(%c: tensor<i1>, %x: tensor<4xf32>) {
  %y = onnx.If %c : (tensor<i1>) -> tensor<4xf32> {
    // expected-error@+1 {{uses a value from around the body it stands in}}
    %0 = onnx.Relu %x : (tensor<4xf32>) -> tensor<4xf32>
    onnx.Yield %0 : tensor<4xf32>
  } else {
    %0 = onnx.Constant {value = dense<0.0> : tensor<4xf32>} : () -> tensor<4xf32>
    onnx.Yield %0 : tensor<4xf32>
  }
  return
}

// -----

!n = tensor<?xf32, #dist.value<dims = ["inner:0"]>>
func.func @size_of_one_branch(%c: tensor<i1>, %k: tensor<i64>, %x: tensor<4xf32>) {
  %y = onnx.If %c, %k : (tensor<i1>, tensor<i64>) -> tensor<f32> {
  ^bb0(%a: tensor<i64>):
    onnx.ReadSizes %a {sizes = #dist.dims<["inner:0"]>} : tensor<i64>
    %0 = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    onnx.Yield %0 : tensor<f32>
  } else {
  ^bb0(%a: tensor<i64>):
    %0 = onnx.Constant {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
    onnx.Yield %0 : tensor<f32>
  }
  // expected-error@+1 {{needs the size "inner:0", which no input has and nothing before it reads}}
  %z = onnx.Expand %y : (tensor<f32>) -> !n
  return
}

// -----

// expected-error @below {{is for no requests: onnx.when: expected true, false, {dim = .., size = ..} or several of those for x}}
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> tensor<4xf32> attributes {onnx.when = {x = {dim = 0 : i64}}} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{is for no requests: onnx.when: expected a dictionary}}
func.func @main(%x: tensor<4xf32> {onnx.name = "x"}) -> tensor<4xf32> attributes {onnx.when = true} {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{output 0 has an onnx.cache that is none: expected the number of an input, a kind append, set, keep or write, and perhaps a dim}}
func.func @main(%x: tensor<4xf32>)
    -> (tensor<4xf32> {onnx.cache = {input = 1 : i64, kind = "keep"}}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{output 0 has an onnx.cache without the dim that grows}}
func.func @main(%x: tensor<4xf32>)
    -> (tensor<4xf32> {onnx.cache = {input = 0 : i64, kind = "keep", dim = 1 : i64}}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{output 0 has an onnx.cache without the dim that grows}}
func.func @main(%x: tensor<4xf32>)
    -> (tensor<4xf32> {onnx.cache = {input = 0 : i64, kind = "append"}}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{has an attribute onnx.page that says nothing}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {onnx.page = -1 : i64} {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{has an attribute onnx.causal that says nothing}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {onnx.causal = 1 : i64} {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{input 0 has an onnx.name or onnx.given of another kind than a string or a type}}
func.func @main(%x: tensor<4xf32> {onnx.name = 3 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{has an attribute dist.outputs that says nothing}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    attributes {dist.outputs = array<i64: 0, 1>} {
  return %x : tensor<4xf32>
}
