// The body of a generated kernel computes what the ops do that it stands for.
// RUN: shard-opt %s --shardc-verify-phase=phase=lowered --split-input-file --verify-diagnostics

module attributes {dist.matrix_axes = #dist.axes<[]>, onnx.opset = 20 : i64} {
  dist.mesh @mesh <["tp"=1]>
  rt.program @stage0 attributes {rt.partitioned = @stage0.partitioned} {
    rt.ready
    %0 = rt.input 0 "x" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
    %1 = rt.input 1 "y" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
    %2 = rt.alloc <[b * 256]>
    %3 = rt.view %0 : <f32, [b, 64], [64, 1], 0, replicated>
    %4 = rt.view %1 : <f32, [b, 64], [64, 1], 0, replicated>
    %5 = rt.view %2 : <f32, [b, 64], [64, 1], 0, replicated>
    rt.call "rows_Add_Softsign"(%3, %4 : !rt.view<f32, [b, 64], [64, 1], 0, replicated>, !rt.view<f32, [b, 64], [64, 1], 0, replicated>) into(%5 : !rt.view<f32, [b, 64], [64, 1], 0, replicated>) {} {rt.members = [{config = {}, inputs = array<i64: 0, 1>, kernel = "Add", rows = array<i64: 0>}, {config = {}, inputs = array<i64: 2>, kernel = "Softsign", rows = array<i64: 0>}], rt.results = array<i64: 3>}
    %6 = rt.view %2 : <f32, [b, 64], [64, 1], 0, replicated>
    rt.output 0 "z" %6 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : <f32, [b, 64], [64, 1], 0, replicated>
  }
  func.func @stage0.partitioned(%arg0: tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "x"}, %arg1: tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "y"}) -> (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "z"}) attributes {dist.sharded = @stage0.sharded, onnx.fingerprint = "05ff3759165b5132e762e3b8019ee3f5"} {
    %0 = onnx.Add %arg0, %arg1 : (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>, tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>) -> tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
    %1 = onnx.Softsign %0 : (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>) -> tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
    return %1 : tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
  }
  rt.kernel @rows_Add_Softsign ["column", "column"] -> ["column"] {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    %1 = math.absf %0 : f32
    %cst = arith.constant 1.000000e+00 : f32
    %2 = arith.addf %cst, %1 : f32
    %3 = arith.divf %0, %2 : f32
    rt.yield %3 : f32
  }
}

// -----

module attributes {dist.matrix_axes = #dist.axes<[]>, onnx.opset = 20 : i64} {
  dist.mesh @mesh <["tp"=1]>
  rt.program @stage0 attributes {rt.partitioned = @stage0.partitioned} {
    rt.ready
    %0 = rt.input 0 "x" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
    %1 = rt.input 1 "y" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
    %2 = rt.alloc <[b * 256]>
    %3 = rt.view %0 : <f32, [b, 64], [64, 1], 0, replicated>
    %4 = rt.view %1 : <f32, [b, 64], [64, 1], 0, replicated>
    %5 = rt.view %2 : <f32, [b, 64], [64, 1], 0, replicated>
    // expected-error@+1 {{is a kernel that gives}}
    rt.call "rows_Add_Softsign"(%3, %4 : !rt.view<f32, [b, 64], [64, 1], 0, replicated>, !rt.view<f32, [b, 64], [64, 1], 0, replicated>) into(%5 : !rt.view<f32, [b, 64], [64, 1], 0, replicated>) {} {rt.members = [{config = {}, inputs = array<i64: 0, 1>, kernel = "Add", rows = array<i64: 0>}, {config = {}, inputs = array<i64: 2>, kernel = "Softsign", rows = array<i64: 0>}], rt.results = array<i64: 3>}
    %6 = rt.view %2 : <f32, [b, 64], [64, 1], 0, replicated>
    rt.output 0 "z" %6 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : <f32, [b, 64], [64, 1], 0, replicated>
  }
  func.func @stage0.partitioned(%arg0: tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "x"}, %arg1: tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "y"}) -> (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "z"}) attributes {dist.sharded = @stage0.sharded, onnx.fingerprint = "05ff3759165b5132e762e3b8019ee3f5"} {
    %0 = onnx.Add %arg0, %arg1 : (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>, tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>) -> tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
    %1 = onnx.Softsign %0 : (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>) -> tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
    return %1 : tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
  }
  rt.kernel @rows_Add_Softsign ["column", "column"] -> ["column"] {
  ^bb0(%arg0: f32, %arg1: f32):
    %0 = arith.addf %arg0, %arg1 : f32
    %1 = math.absf %0 : f32
    %cst = arith.constant 1.000000e+00 : f32
    %2 = arith.subf %cst, %1 : f32
    %3 = arith.divf %0, %2 : f32
    rt.yield %3 : f32
  }
}

// -----

module attributes {dist.matrix_axes = #dist.axes<[]>, onnx.opset = 20 : i64} {
  dist.mesh @mesh <["tp"=1]>
  rt.program @stage0 attributes {rt.partitioned = @stage0.partitioned} {
    rt.ready
    %0 = rt.input 0 "x" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
    %1 = rt.input 1 "y" f32 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]>
    %2 = rt.alloc <[b * 256]>
    %3 = rt.view %0 : <f32, [b, 64], [64, 1], 0, replicated>
    %4 = rt.view %1 : <f32, [b, 64], [64, 1], 0, replicated>
    %5 = rt.view %2 : <f32, [b, 64], [64, 1], 0, replicated>
    // expected-error@+1 {{is not the kernel that it calls}}
    rt.call "rows_Add_Softsign"(%3, %4 : !rt.view<f32, [b, 64], [64, 1], 0, replicated>, !rt.view<f32, [b, 64], [64, 1], 0, replicated>) into(%5 : !rt.view<f32, [b, 64], [64, 1], 0, replicated>) {} {rt.members = [{config = {}, inputs = array<i64: 0, 1>, kernel = "Add", rows = array<i64: 0>}, {config = {}, inputs = array<i64: 2>, kernel = "Softsign", rows = array<i64: 0>}], rt.results = array<i64: 3>}
    %6 = rt.view %2 : <f32, [b, 64], [64, 1], 0, replicated>
    rt.output 0 "z" %6 <dims = [b, 64], sharding = [{}, {}], local = [b, 64]> : <f32, [b, 64], [64, 1], 0, replicated>
  }
  func.func @stage0.partitioned(%arg0: tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "x"}, %arg1: tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "y"}) -> (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>> {onnx.name = "z"}) attributes {dist.sharded = @stage0.sharded, onnx.fingerprint = "05ff3759165b5132e762e3b8019ee3f5"} {
    %0 = onnx.Add %arg0, %arg1 : (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>, tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>) -> tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
    %1 = onnx.Softsign %0 : (tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>) -> tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
    return %1 : tensor<?x64xf32, #dist.value<dims = [b, 64], sharding = [{}, {}], local = [b, 64]>>
  }
  rt.kernel @rows_Add_Softsign ["column"] -> ["column"] {
  ^bb0(%arg1: f32):
    %0 = arith.addf %arg1, %arg1 : f32
    %1 = math.absf %0 : f32
    %cst = arith.constant 1.000000e+00 : f32
    %2 = arith.addf %cst, %1 : f32
    %3 = arith.divf %0, %2 : f32
    rt.yield %3 : f32
  }
}
