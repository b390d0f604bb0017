// RUN: shard-opt %s --shardc-verify-phase=phase=imported --split-input-file --verify-diagnostics

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
