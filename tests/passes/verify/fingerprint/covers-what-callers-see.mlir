// Names, the types in which callers hand values in, caches, and for which requests a profile is.
// RUN: shard-opt %s --split-input-file --shardc-fingerprint | FileCheck %s

!x = tensor<4xbf16, #dist.value<dims = [4]>>

// CHECK: func.func @main{{.*}}onnx.fingerprint = "[[PRINT:[0-9a-f]+]]"
func.func @main(%a: !x, %b: !x) -> (!x {onnx.cache = {input = 0 : i64, kind = "keep"}},
                                    !x {onnx.cache = {input = 1 : i64, kind = "keep"}}) {
  return %a, %b : !x, !x
}

// -----

!x = tensor<4xbf16, #dist.value<dims = [4]>>

// CHECK-NOT: [[PRINT]]
func.func @swapped_caches(%a: !x, %b: !x) -> (!x {onnx.cache = {input = 1 : i64, kind = "keep"}},
                                              !x {onnx.cache = {input = 0 : i64, kind = "keep"}}) {
  return %a, %b : !x, !x
}

// -----

!x = tensor<4xbf16, #dist.value<dims = [4]>>

func.func @given(%a: !x {onnx.given = f32}, %b: !x) -> (!x {onnx.cache = {input = 0 : i64, kind = "keep"}},
                                                        !x {onnx.cache = {input = 1 : i64, kind = "keep"}}) {
  return %a, %b : !x, !x
}

// -----

!x = tensor<4xbf16, #dist.value<dims = [4]>>

func.func @profile(%a: !x, %b: !x) -> (!x {onnx.cache = {input = 0 : i64, kind = "keep"}},
                                       !x {onnx.cache = {input = 1 : i64, kind = "keep"}})
    attributes {onnx.profile = "decode"} {
  return %a, %b : !x, !x
}

// -----

!x = tensor<4xbf16, #dist.value<dims = [4]>>

func.func @first_of_two(%a: !x, %b: !x) -> (!x {onnx.cache = {input = 0 : i64, kind = "keep"}},
                                            !x {onnx.cache = {input = 1 : i64, kind = "keep"}}) {
  return %a, %b : !x, !x
}
func.func @other(%a: !x) -> !x attributes {onnx.profile = "decode"} {
  return %a : !x
}
// CHECK: func.func @other
