// Cosines that are a weight, of which the importer saw that each is there twice:
// half of it is the table. Another weight keeps the arithmetic.
// RUN: shard-opt %s --shardc-recover-rotary | FileCheck %s

!x = tensor<2x4x3x8xf32>
!h = tensor<2x4x3x4xf32>
!c = tensor<16x8xf32>
!g = tensor<3x8xf32>
!r = tensor<1x1x3x8xf32>
!p = tensor<3xi64>

// CHECK-LABEL: func.func @halves(
// CHECK: %[[WEIGHT:.*]] = onnx.Weight {{.*}}name = "cos"
// CHECK: %[[ONCE:.*]] = onnx.Slice %[[WEIGHT]] {bounds = #dist.dims<[0, 0]>, steps = array<i64: 1, 1>} : {{.*}} -> tensor<16x4xf32>
// CHECK: %[[COS:.*]] = onnx.Gather %[[ONCE]], %arg1 : {{.*}} -> tensor<3x4xf32>
// CHECK: onnx.RotaryEmbedding %arg0, %{{.*}}, %{{.*}} : (tensor<2x4x3x8xf32>, tensor<1x3x4xf32>, tensor<1x3x4xf32>)
func.func @halves(%x: !x, %p: !p) -> !x {
  %wc = onnx.Weight {name = "cos", file = "m.onnx", offset = 0 : i64, length = 512 : i64, pattern = "halves"} : () -> !c
  %ws = onnx.Weight {name = "sin", file = "m.onnx", offset = 512 : i64, length = 512 : i64, pattern = "halves"} : () -> !c
  %gc = onnx.Gather %wc, %p : (!c, !p) -> !g
  %gs = onnx.Gather %ws, %p : (!c, !p) -> !g
  %cos = onnx.Reshape %gc : (!g) -> !r
  %sin = onnx.Reshape %gs : (!g) -> !r
  %left = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (!x) -> !h
  %right = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 4]>, steps = array<i64: 1, 1, 1, 1>} : (!x) -> !h
  %neg = onnx.Neg %right : (!h) -> !h
  %turned = onnx.Concat %neg, %left {axis = 3 : i64} : (!h, !h) -> !x
  %a = onnx.Mul %x, %cos : (!x, !r) -> !x
  %b = onnx.Mul %turned, %sin : (!x, !r) -> !x
  %y = onnx.Add %a, %b : (!x, !x) -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @others(
// CHECK-NOT: onnx.RotaryEmbedding
func.func @others(%x: !x, %p: !p) -> !x {
  %wc = onnx.Weight {name = "cos", file = "m.onnx", offset = 0 : i64, length = 512 : i64, pattern = "pairs"} : () -> !c
  %ws = onnx.Weight {name = "sin", file = "m.onnx", offset = 512 : i64, length = 512 : i64} : () -> !c
  %gc = onnx.Gather %wc, %p : (!c, !p) -> !g
  %gs = onnx.Gather %ws, %p : (!c, !p) -> !g
  %cos = onnx.Reshape %gc : (!g) -> !r
  %sin = onnx.Reshape %gs : (!g) -> !r
  %left = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 0]>, steps = array<i64: 1, 1, 1, 1>} : (!x) -> !h
  %right = onnx.Slice %x {bounds = #dist.dims<[0, 0, 0, 4]>, steps = array<i64: 1, 1, 1, 1>} : (!x) -> !h
  %neg = onnx.Neg %right : (!h) -> !h
  %turned = onnx.Concat %neg, %left {axis = 3 : i64} : (!h, !h) -> !x
  %a = onnx.Mul %x, %cos : (!x, !r) -> !x
  %b = onnx.Mul %turned, %sin : (!x, !r) -> !x
  %y = onnx.Add %a, %b : (!x, !x) -> !x
  return %y : !x
}
