// Transformers' grouped_mm: choices sorted by expert, one product a segment. The
// host waits for the segments' ends no more, nor looks whether they are in order.
// RUN: shard-opt %s --shardc-recover-mixture-of-experts | FileCheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT: %{{.*}}, %[[CHOSEN:.*]] = onnx.TopK %arg1
// CHECK-NEXT: onnx.MixtureOfExperts %arg0, %[[CHOSEN]], %arg2, %arg3, %arg4 {gate = "halves"}
// CHECK-NEXT: return
func.func @main(%x: tensor<3x4xf32>, %logits: tensor<3x2xf32>, %weights: tensor<3x2xf32>, %up: tensor<2x4x4xf32>, %down: tensor<2x2x4xf32>) -> tensor<3x4xf32> {
  %true = onnx.Constant {value = dense<true> : tensor<i1>} : () -> tensor<i1>
  %zero = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
  %one = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
  %two = onnx.Constant {value = dense<2> : tensor<i64>} : () -> tensor<i64>
  %ones = onnx.Constant {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %width = onnx.Constant {value = dense<0.5> : tensor<f32>} : () -> tensor<f32>
  %none = onnx.Constant {value = dense<0.0> : tensor<2xf32>} : () -> tensor<2xf32>
  %values, %indices = onnx.TopK %logits {axis = 1 : i64} : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  %flat = onnx.Reshape %indices : (tensor<3x2xi64>) -> tensor<6xi64>
  %sorted, %order = onnx.TopK %flat {axis = 0 : i64, largest = 0 : i64} : (tensor<6xi64>) -> (tensor<6xi64>, tensor<6xi64>)
  %neg = onnx.Less %order, %zero : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
  %differ = onnx.Equal %neg, %true : (tensor<6xi1>, tensor<i1>) -> tensor<6xi1>
  %rest = onnx.Mod %order, %two : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
  %hasRest = onnx.Cast %rest : (tensor<6xi64>) -> tensor<6xi1>
  %down1 = onnx.And %differ, %hasRest : (tensor<6xi1>, tensor<6xi1>) -> tensor<6xi1>
  %correction = onnx.Cast %down1 : (tensor<6xi1>) -> tensor<6xi64>
  %quotient = onnx.Div %order, %two : (tensor<6xi64>, tensor<i64>) -> tensor<6xi64>
  %token = onnx.Sub %quotient, %correction : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
  %token1 = onnx.Reshape %token : (tensor<6xi64>) -> tensor<6x1xi64>
  %rows = onnx.GatherND %x, %token1 : (tensor<3x4xf32>, tensor<6x1xi64>) -> tensor<6x4xf32>
  %flatWeights = onnx.Reshape %weights : (tensor<3x2xf32>) -> tensor<6xf32>
  %order1 = onnx.Reshape %order : (tensor<6xi64>) -> tensor<6x1xi64>
  %w = onnx.GatherND %flatWeights, %order1 : (tensor<6xf32>, tensor<6x1xi64>) -> tensor<6xf32>
  %number = onnx.Cast %sorted : (tensor<6xi64>) -> tensor<6xf32>
  %scaled = onnx.Div %number, %width : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32>
  %bin = onnx.Cast %scaled : (tensor<6xf32>) -> tensor<6xi64>
  %bins = onnx.Clip %bin, %zero, %one : (tensor<6xi64>, tensor<i64>, tensor<i64>) -> tensor<6xi64>
  %adds = onnx.Expand %ones : (tensor<f32>) -> tensor<6xf32>
  %counts = onnx.ScatterElements %none, %bins, %adds {reduction = "add"} : (tensor<2xf32>, tensor<6xi64>, tensor<6xf32>) -> tensor<2xf32>
  %count = onnx.Cast %counts : (tensor<2xf32>) -> tensor<2xi32>
  %ends = onnx.CumSum %count {axis = 0 : i64} : (tensor<2xi32>) -> tensor<2xi32>
  onnx.Guard #dist.dims<[6 - first]> "at_least" #dist.dims<[0]> "Range: from first to 6 has no size"
  onnx.ReadSizes %ends {sizes = #dist.dims<[first, 6]>} : tensor<2xi32>
  %r0 = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [first]>>
  %r1 = onnx.Range {bounds = #dist.dims<[first, 1]>} : () -> tensor<?xi64, #dist.value<dims = [6 - first]>>
  %hs:2 = onnx.Split %up {axis = 0 : i64} : (tensor<2x4x4xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x4xf32>)
  %hr0 = onnx.Gather %rows, %r0 : (tensor<6x4xf32>, tensor<?xi64, #dist.value<dims = [first]>>) -> tensor<?x4xf32, #dist.value<dims = [first, 4]>>
  %hm0 = onnx.Reshape %hs#0 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
  %hp0 = onnx.MatMul %hr0, %hm0 : (tensor<?x4xf32, #dist.value<dims = [first, 4]>>, tensor<4x4xf32>) -> tensor<?x4xf32, #dist.value<dims = [first, 4]>>
  %hr1 = onnx.Gather %rows, %r1 : (tensor<6x4xf32>, tensor<?xi64, #dist.value<dims = [6 - first]>>) -> tensor<?x4xf32, #dist.value<dims = [6 - first, 4]>>
  %hm1 = onnx.Reshape %hs#1 : (tensor<1x4x4xf32>) -> tensor<4x4xf32>
  %hp1 = onnx.MatMul %hr1, %hm1 : (tensor<?x4xf32, #dist.value<dims = [6 - first, 4]>>, tensor<4x4xf32>) -> tensor<?x4xf32, #dist.value<dims = [6 - first, 4]>>
  %h = onnx.Concat %hp0, %hp1 {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [first, 4]>>, tensor<?x4xf32, #dist.value<dims = [6 - first, 4]>>) -> tensor<6x4xf32>
  %gu:2 = onnx.Split %h {axis = 1 : i64} : (tensor<6x4xf32>) -> (tensor<6x2xf32>, tensor<6x2xf32>)
  %g = onnx.Swish %gu#0 : (tensor<6x2xf32>) -> tensor<6x2xf32>
  %a = onnx.Mul %g, %gu#1 : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  %ys:2 = onnx.Split %down {axis = 0 : i64} : (tensor<2x2x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  %yr0 = onnx.Gather %a, %r0 : (tensor<6x2xf32>, tensor<?xi64, #dist.value<dims = [first]>>) -> tensor<?x2xf32, #dist.value<dims = [first, 2]>>
  %ym0 = onnx.Reshape %ys#0 : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
  %yp0 = onnx.MatMul %yr0, %ym0 : (tensor<?x2xf32, #dist.value<dims = [first, 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = [first, 4]>>
  %yr1 = onnx.Gather %a, %r1 : (tensor<6x2xf32>, tensor<?xi64, #dist.value<dims = [6 - first]>>) -> tensor<?x2xf32, #dist.value<dims = [6 - first, 2]>>
  %ym1 = onnx.Reshape %ys#1 : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
  %yp1 = onnx.MatMul %yr1, %ym1 : (tensor<?x2xf32, #dist.value<dims = [6 - first, 2]>>, tensor<2x4xf32>) -> tensor<?x4xf32, #dist.value<dims = [6 - first, 4]>>
  %y = onnx.Concat %yp0, %yp1 {axis = 0 : i64} : (tensor<?x4xf32, #dist.value<dims = [first, 4]>>, tensor<?x4xf32, #dist.value<dims = [6 - first, 4]>>) -> tensor<6x4xf32>
  %w1 = onnx.Reshape %w : (tensor<6xf32>) -> tensor<6x1xf32>
  %yw = onnx.Mul %y, %w1 : (tensor<6x4xf32>, tensor<6x1xf32>) -> tensor<6x4xf32>
  %blank = onnx.Expand %zero : (tensor<i64>) -> tensor<6xi64>
  %places = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<6xi64>
  %inverse = onnx.ScatterND %blank, %order1, %places : (tensor<6xi64>, tensor<6x1xi64>, tensor<6xi64>) -> tensor<6xi64>
  %inverse1 = onnx.Reshape %inverse : (tensor<6xi64>) -> tensor<6x1xi64>
  %back = onnx.GatherND %yw, %inverse1 : (tensor<6x4xf32>, tensor<6x1xi64>) -> tensor<6x4xf32>
  %all = onnx.Reshape %back : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %result = onnx.ReduceSum %all {axes = array<i64: 1>, keepdims = 0 : i64} : (tensor<3x2x4xf32>) -> tensor<3x4xf32>
  return %result : tensor<3x4xf32>
}
