// Sizes come from a file: what import would write for an op is counted before
// memory is taken for it.
// RUN: shard-opt %s --shardc-infer-shapes --split-input-file --verify-diagnostics

!u = tensor<*x!onnx.unknown>

func.func @dft(%x: tensor<1x4294967296x1xf32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @+1 {{would become 4294967296 x 1 x 4294967296 x 2 elements of a matrix, expected from 0 to 33554432}}
  %y = onnx.DFT %x, %none {axis = 1 : i64} : (tensor<1x4294967296x1xf32>, none) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @wraps(%x: tensor<1x2147483648x2xf32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @+1 {{would become 2147483648 x 2 x 2147483648 x 2 elements of a matrix, expected from 0 to 33554432}}
  %y = onnx.DFT %x, %none {axis = 1 : i64} : (tensor<1x2147483648x2xf32>, none) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @stft(%x: tensor<1x1099511627776x1xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %step = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %length = onnx.Constant {value = dense<1048576> : tensor<i64>} : () -> tensor<i64>
  // expected-error @+1 {{would become 1099510579201 x 1048576 points of frames, expected from 0 to 33554432}}
  %y = onnx.STFT %x, %step, %none, %length : (tensor<1x1099511627776x1xf32>, tensor<i64>, none, tensor<i64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @resize(%x: tensor<1x1x1048576x4xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %sizes = onnx.Constant {value = dense<[1, 1, 2097152, 4]> : tensor<4xi64>} : () -> tensor<4xi64>
  // expected-error @+1 {{would become 1048576 x 2097152 elements of weights or places, expected from 0 to 33554432}}
  %y = onnx.Resize %x, %none, %none, %sizes {mode = "linear"} : (tensor<1x1x1048576x4xf32>, none, none, tensor<4xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @affine_grid(%x: tensor<1x2x3xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %size = onnx.Constant {value = dense<[1, 1, 1073741824, 1024]> : tensor<4xi64>} : () -> tensor<4xi64>
  // expected-error @+1 {{would become 1073741824 x 1024 x 3 coordinates, expected from 0 to 33554432}}
  %y = onnx.AffineGrid %x, %size : (tensor<1x2x3xf32>, tensor<4xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @col2im(%x: tensor<1x1048576x?xf32, #dist.value<dims = [1, 1048576, n]>>) -> (!u) {
  %none = onnx.None : () -> none
  %image = onnx.Constant {value = dense<[1073741824, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  %block = onnx.Constant {value = dense<[1048576, 1]> : tensor<2xi64>} : () -> tensor<2xi64>
  // expected-error @+1 {{would become 1072693249 x 1 x 1048576 taps of windows, expected from 0 to 33554432}}
  %y = onnx.Col2Im %x, %image, %block : (tensor<1x1048576x?xf32, #dist.value<dims = [1, 1048576, n]>>, tensor<2xi64>, tensor<2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @no_step(%x: tensor<1x4x?xf32, #dist.value<dims = [1, 4, n]>>) -> (!u) {
  %none = onnx.None : () -> none
  %image = onnx.Constant {value = dense<[4, 4]> : tensor<2xi64>} : () -> tensor<2xi64>
  %block = onnx.Constant {value = dense<[2, 2]> : tensor<2xi64>} : () -> tensor<2xi64>
  // expected-error @+1 {{has a block, strides or dilations of which no window lies in its image}}
  %y = onnx.Col2Im %x, %image, %block {strides = array<i64: 0, 1>} : (tensor<1x4x?xf32, #dist.value<dims = [1, 4, n]>>, tensor<2xi64>, tensor<2xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @lrn(%x: tensor<1x3x4x4xf32>) -> (!u) {
  %none = onnx.None : () -> none
  // expected-error @+1 {{would become 1073741824 sums of neighbours, expected from 0 to 65536}}
  %y = onnx.LRN %x {size = 1073741824 : i64} : (tensor<1x3x4x4xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @split(%x: tensor<8589934592x2xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %part = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  // expected-error @+1 {{would become 8589934592 parts, expected from 0 to 65536}}
  %y = onnx.SplitToSequence %x, %part {axis = 0 : i64} : (tensor<8589934592x2xf32>, tensor<i64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @negative_part(%x: tensor<10x2xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %part = onnx.Constant {value = dense<-2> : tensor<i64>} : () -> tensor<i64>
  // expected-error @+1 {{would become -5 parts, expected from 0 to 65536}}
  %y = onnx.SplitToSequence %x, %part {axis = 0 : i64} : (tensor<10x2xf32>, tensor<i64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @depth_to_space(%x: tensor<1x8x2x3xf32>) -> (!u) {
  // expected-error @+1 {{has blocksize of 4611686018427387904, expected numbers from -1073741824 to 1073741824}}
  %y = onnx.DepthToSpace %x {blocksize = 4611686018427387904 : i64} : (tensor<1x8x2x3xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @pool(%x: tensor<1x3x8x8xf32>) -> (!u) {
  // expected-error @+1 {{has dilations of 4611686018427387904, expected numbers from -1073741824 to 1073741824}}
  %y = onnx.MaxPool %x {dilations = array<i64: 1, 4611686018427387904>, kernel_shape = array<i64: 3, 3>} : (tensor<1x3x8x8xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @conv(%x: tensor<1x1x8xf32>, %w: tensor<1x1x4611686018427387904xf32>) -> (!u) {
  // expected-error @+1 {{has a kernel size of 4611686018427387904, expected numbers from -1073741824 to 1073741824}}
  %y = onnx.Conv %x, %w {dilations = array<i64: 3>} : (tensor<1x1x8xf32>, tensor<1x1x4611686018427387904xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @conv_transpose(%x: tensor<1x1x4611686018427387904xf32>, %w: tensor<1x1x3xf32>) -> (!u) {
  // expected-error @+1 {{has an image size of 4611686018427387904, expected numbers from -1073741824 to 1073741824}}
  %y = onnx.ConvTranspose %x, %w {output_shape = array<i64: 8>, strides = array<i64: 3>} : (tensor<1x1x4611686018427387904xf32>, tensor<1x1x3xf32>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @frame_before_all(%x: tensor<1x128x1xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %step = onnx.Constant {value = dense<8> : tensor<i64>} : () -> tensor<i64>
  %length = onnx.Constant {value = dense<-9223372036854775808> : tensor<i64>} : () -> tensor<i64>
  // expected-error @+1 {{expected a constant number of points, no fewer than a frame}}
  %y = onnx.STFT %x, %step, %none, %length : (tensor<1x128x1xf32>, tensor<i64>, none, tensor<i64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @tile(%x: tensor<2xf32>) -> (!u) {
  %repeats = onnx.Constant {value = dense<-1> : tensor<1xi64>} : () -> tensor<1xi64>
  // expected-error @+1 {{Tile: the size of a result: expected at least 0, found -2}}
  %y = onnx.Tile %x, %repeats : (tensor<2xf32>, tensor<1xi64>) -> !u
  return %y : !u
}

// -----

!u = tensor<*x!onnx.unknown>

func.func @range() -> (!u) {
  %start = onnx.Constant {value = dense<-9223372036854775807> : tensor<i64>} : () -> tensor<i64>
  %limit = onnx.Constant {value = dense<9223372036854775807> : tensor<i64>} : () -> tensor<i64>
  %delta = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  // expected-error @+1 {{found an expression of tens of thousands of terms, or beyond 64 bits}}
  %y = onnx.Range %start, %limit, %delta : (tensor<i64>, tensor<i64>, tensor<i64>) -> !u
  return %y : !u
}
