// What is computed counts; names, and the order of independent ops, do not.
// RUN: shard-opt %s --split-input-file --shardc-fingerprint | FileCheck %s

// CHECK: func.func @main{{.*}} attributes {onnx.fingerprint = "[[PRINT:[0-9a-f]+]]"}
module {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = onnx.Relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// CHECK: func.func @renamed{{.*}} attributes {onnx.fingerprint = "[[PRINT]]"}
module {
  func.func @renamed(%in: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %second = onnx.Exp %in : (tensor<4xf32>) -> tensor<4xf32>
    %first = onnx.Relu %in : (tensor<4xf32>) -> tensor<4xf32>
    return %first, %second : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// CHECK: func.func @swapped{{.*}} attributes {onnx.fingerprint = "
// CHECK-NOT: [[PRINT]]
// CHECK: return
module {
  func.func @swapped(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %a = onnx.Relu %x : (tensor<4xf32>) -> tensor<4xf32>
    %b = onnx.Exp %x : (tensor<4xf32>) -> tensor<4xf32>
    return %b, %a : tensor<4xf32>, tensor<4xf32>
  }
}
