// New keys stand behind each row's own; queries see keys of their row.
// RUN: shard-opt %s --shardc-infer-shapes | FileCheck %s

!u = tensor<*x!onnx.unknown>

// CHECK-LABEL: func.func @packed_with_rotary(
// CHECK-NEXT: onnx.ReadSizes %arg4 {sizes = #dist.dims<[past + s]>}
// CHECK-NEXT: %[[SPLIT:.*]]:3 = onnx.Split %arg0 {axis = 2 : i64} : {{.*}} -> (tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>)
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %[[SPLIT]]#0 : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %[[SPLIT]]#1 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, s, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %[[SPLIT]]#2 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, s, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg3 : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[CAST]], %[[CONSTANT]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<i64>
// CHECK-NEXT: %[[SUB:.*]] = onnx.Sub %[[ADD]], %[[SYMBOLS]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[MAX:.*]] = onnx.Max %[[SUB]], %[[CONSTANT2]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[MAX]] : {{.*}} -> tensor<?x1xi64, #dist.value<dims = [b, 1]>>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[RESHAPE4]], %[[RANGE]] : {{.*}} -> tensor<?x?xi64, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[GATHER:.*]] = onnx.Gather %arg5, %[[ADD2]] : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
// CHECK-NEXT: %[[GATHER2:.*]] = onnx.Gather %arg6, %[[ADD2]] : {{.*}} -> tensor<?x?x8xf32, #dist.value<dims = [b, s, 8]>>
// CHECK-NEXT: %[[ROTARYEMBEDDING:.*]] = onnx.RotaryEmbedding %[[TRANSPOSE]], %[[GATHER]], %[[GATHER2]] : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[ROTARYEMBEDDING2:.*]] = onnx.RotaryEmbedding %[[TRANSPOSE2]], %[[GATHER]], %[[GATHER2]] : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[CACHEAPPEND:.*]] = onnx.CacheAppend %arg1, %[[ROTARYEMBEDDING2]], %[[MAX]] : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: %[[CACHEAPPEND2:.*]] = onnx.CacheAppend %arg2, %[[TRANSPOSE3]], %[[MAX]] : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: %[[RANGE2:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + s]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[ADD2]] : {{.*}} -> tensor<?x1x?x1xi64, #dist.value<dims = [b, 1, s, 1]>>
// CHECK-NEXT: %[[RESHAPE6:.*]] = onnx.Reshape %[[ADD]] : {{.*}} -> tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
// CHECK-NEXT: %[[LESS:.*]] = onnx.Less %[[RANGE2]], %[[RESHAPE6]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + s]>>
// CHECK-NEXT: %[[LESSOREQUAL:.*]] = onnx.LessOrEqual %[[RANGE2]], %[[RESHAPE5]] : {{.*}} -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, past + s]>>
// CHECK-NEXT: %[[AND:.*]] = onnx.And %[[LESS]], %[[LESSOREQUAL]] : {{.*}} -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, past + s]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[ROTARYEMBEDDING]], %[[CACHEAPPEND]], %[[CACHEAPPEND2]], %[[AND]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[RESHAPE7:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>
// CHECK-NEXT: return %[[RESHAPE7]], %[[CACHEAPPEND]], %[[CACHEAPPEND2]]
func.func @packed_with_rotary(%q: tensor<?x?x256xf32, #dist.value<dims = [b, s, 256]>>, %pk: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %pv: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %last: tensor<?xi32, #dist.value<dims = [b]>>, %total: tensor<i32>, %cos: tensor<128x8xf32>, %sin: tensor<128x8xf32>) -> (!u, !u, !u) {
  %none = onnx.None : () -> none
  %y, %ak, %av = onnx.microsoft.GroupQueryAttention %q, %none, %none, %pk, %pv, %last, %total, %cos, %sin {kv_num_heads = 4 : i64, num_heads = 8 : i64, do_rotary = 1 : i64} : (tensor<?x?x256xf32, #dist.value<dims = [b, s, 256]>>, none, none, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, tensor<?xi32, #dist.value<dims = [b]>>, tensor<i32>, tensor<128x8xf32>, tensor<128x8xf32>) -> (!u, !u, !u)
  return %y, %ak, %av : !u, !u, !u
}

// CHECK-LABEL: func.func @window_and_sinks(
// CHECK-NEXT: onnx.ReadSizes %arg6 {sizes = #dist.dims<[past + s]>}
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, s, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, s, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg5 : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[CAST]], %[[CONSTANT]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<i64>
// CHECK-NEXT: %[[SUB:.*]] = onnx.Sub %[[ADD]], %[[SYMBOLS]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[MAX:.*]] = onnx.Max %[[SUB]], %[[CONSTANT2]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[MAX]] : {{.*}} -> tensor<?x1xi64, #dist.value<dims = [b, 1]>>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[RESHAPE4]], %[[RANGE]] : {{.*}} -> tensor<?x?xi64, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[CACHEAPPEND:.*]] = onnx.CacheAppend %arg3, %[[TRANSPOSE2]], %[[MAX]] : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: %[[CACHEAPPEND2:.*]] = onnx.CacheAppend %arg4, %[[TRANSPOSE3]], %[[MAX]] : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past + s, 16]>>
// CHECK-NEXT: %[[RANGE2:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [past + s]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[ADD2]] : {{.*}} -> tensor<?x1x?x1xi64, #dist.value<dims = [b, 1, s, 1]>>
// CHECK-NEXT: %[[RESHAPE6:.*]] = onnx.Reshape %[[ADD]] : {{.*}} -> tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
// CHECK-NEXT: %[[LESS:.*]] = onnx.Less %[[RANGE2]], %[[RESHAPE6]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, past + s]>>
// CHECK-NEXT: %[[LESSOREQUAL:.*]] = onnx.LessOrEqual %[[RANGE2]], %[[RESHAPE5]] : {{.*}} -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, past + s]>>
// CHECK-NEXT: %[[AND:.*]] = onnx.And %[[LESS]], %[[LESSOREQUAL]] : {{.*}} -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, past + s]>>
// CHECK-NEXT: %[[CONSTANT3:.*]] = onnx.Constant {value = dense<7> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[SUB2:.*]] = onnx.Sub %[[RESHAPE5]], %[[CONSTANT3]] : {{.*}} -> tensor<?x1x?x1xi64, #dist.value<dims = [b, 1, s, 1]>>
// CHECK-NEXT: %[[GREATER:.*]] = onnx.Greater %[[RANGE2]], %[[SUB2]] : {{.*}} -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, past + s]>>
// CHECK-NEXT: %[[AND2:.*]] = onnx.And %[[AND]], %[[GREATER]] : {{.*}} -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, past + s]>>
// CHECK-NEXT: %[[NONE:.*]] = onnx.None
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[CACHEAPPEND]], %[[CACHEAPPEND2]], %[[AND2]], %[[NONE]], %[[NONE]], %[[NONE]], %arg7 {scale = 2.500000e-01 : f32, softcap = 3.000000e+01 : f32} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE5:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[RESHAPE14:.*]] = onnx.Reshape %[[TRANSPOSE5]] : {{.*}} -> tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>
// CHECK-NEXT: return %[[RESHAPE14]]
func.func @window_and_sinks(%q: tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, %k: tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, %v: tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, %pk: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %pv: tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, %last: tensor<?xi32, #dist.value<dims = [b]>>, %total: tensor<i32>, %sinks: tensor<8xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.GroupQueryAttention %q, %k, %v, %pk, %pv, %last, %total, %none, %none, %none, %none, %sinks {kv_num_heads = 4 : i64, num_heads = 8 : i64, local_window_size = 7 : i64, softcap = 30.0 : f32} : (tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, past, 16]>>, tensor<?xi32, #dist.value<dims = [b]>>, tensor<i32>, none, none, none, none, tensor<8xf32>) -> !u
  return %y : !u
}

// CHECK-LABEL: func.func @cache_with_room(
// CHECK-NEXT: onnx.Guard #dist.dims<[t]> "at_most" #dist.dims<[64]> "GroupQueryAttention: total_sequence_length t and a cache of 64 with s new tokens"
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, s, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, s, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg5 : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[CAST]], %[[CONSTANT]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<i64>
// CHECK-NEXT: %[[SUB:.*]] = onnx.Sub %[[ADD]], %[[SYMBOLS]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[MAX:.*]] = onnx.Max %[[SUB]], %[[CONSTANT2]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CACHEAPPEND:.*]] = onnx.CacheAppend %arg3, %[[TRANSPOSE2]], %[[MAX]] {in_capacity} : {{.*}} -> tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>
// CHECK-NEXT: %[[CACHEAPPEND2:.*]] = onnx.CacheAppend %arg4, %[[TRANSPOSE3]], %[[MAX]] {in_capacity} : {{.*}} -> tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>
// CHECK-NEXT: %[[CONSTANT3:.*]] = onnx.Constant {value = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63]> : tensor<64xi64>} : () -> tensor<64xi64>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[ADD]] : {{.*}} -> tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
// CHECK-NEXT: %[[LESS:.*]] = onnx.Less %[[CONSTANT3]], %[[RESHAPE4]] : {{.*}} -> tensor<?x1x1x64xi1, #dist.value<dims = [b, 1, 1, 64]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[TRANSPOSE]], %[[CACHEAPPEND]], %[[CACHEAPPEND2]], %[[LESS]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>
// CHECK-NEXT: return %[[RESHAPE5]], %[[CACHEAPPEND]], %[[CACHEAPPEND2]]
func.func @cache_with_room(%q: tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, %k: tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, %v: tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, %pk: tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>, %pv: tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>, %last: tensor<?xi32, #dist.value<dims = [b]>>, %total: tensor<i32>, %mask: tensor<?x?xi64, #dist.value<dims = [b, t]>>) -> (!u, !u, !u) {
  %shape = onnx.Shape %mask {start = 1 : i64} : (tensor<?x?xi64, #dist.value<dims = [b, t]>>) -> !u
  %n = onnx.Squeeze %shape : (!u) -> !u
  %y, %ak, %av = onnx.microsoft.GroupQueryAttention %q, %k, %v, %pk, %pv, %last, %n {kv_num_heads = 4 : i64, num_heads = 8 : i64, causal = 0 : i64} : (tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>, tensor<?x4x64x16xf32, #dist.value<dims = [b, 4, 64, 16]>>, tensor<?xi32, #dist.value<dims = [b]>>, !u) -> (!u, !u, !u)
  return %y, %ak, %av : !u, !u, !u
}

// CHECK-LABEL: func.func @norms(
// CHECK-NEXT: %[[RESHAPE:.*]] = onnx.Reshape %arg0 : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[TRANSPOSE:.*]] = onnx.Transpose %[[RESHAPE]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[RESHAPE2:.*]] = onnx.Reshape %arg1 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, s, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE2:.*]] = onnx.Transpose %[[RESHAPE2]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[RESHAPE3:.*]] = onnx.Reshape %arg2 : {{.*}} -> tensor<?x?x4x16xf32, #dist.value<dims = [b, s, 4, 16]>>
// CHECK-NEXT: %[[TRANSPOSE3:.*]] = onnx.Transpose %[[RESHAPE3]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[CAST:.*]] = onnx.Cast %arg3 : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CONSTANT:.*]] = onnx.Constant {value = dense<1> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[ADD:.*]] = onnx.Add %[[CAST]], %[[CONSTANT]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[SYMBOLS:.*]] = onnx.Symbols {values = #dist.dims<[s]>} : () -> tensor<i64>
// CHECK-NEXT: %[[SUB:.*]] = onnx.Sub %[[ADD]], %[[SYMBOLS]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[CONSTANT2:.*]] = onnx.Constant {value = dense<0> : tensor<i64>} : () -> tensor<i64>
// CHECK-NEXT: %[[MAX:.*]] = onnx.Max %[[SUB]], %[[CONSTANT2]] : {{.*}} -> tensor<?xi64, #dist.value<dims = [b]>>
// CHECK-NEXT: %[[RANGE:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[RESHAPE4:.*]] = onnx.Reshape %[[MAX]] : {{.*}} -> tensor<?x1xi64, #dist.value<dims = [b, 1]>>
// CHECK-NEXT: %[[ADD2:.*]] = onnx.Add %[[RESHAPE4]], %[[RANGE]] : {{.*}} -> tensor<?x?xi64, #dist.value<dims = [b, s]>>
// CHECK-NEXT: %[[RMSNORMALIZATION:.*]] = onnx.RMSNormalization %[[TRANSPOSE]], %arg5 {axis = 3 : i64, epsilon = 9.99999997E-7 : f32} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[RMSNORMALIZATION2:.*]] = onnx.RMSNormalization %[[TRANSPOSE2]], %arg6 {axis = 3 : i64, epsilon = 9.99999997E-7 : f32} : {{.*}} -> tensor<?x4x?x16xf32, #dist.value<dims = [b, 4, s, 16]>>
// CHECK-NEXT: %[[RANGE2:.*]] = onnx.Range {bounds = #dist.dims<[0, 1]>} : () -> tensor<?xi64, #dist.value<dims = [s]>>
// CHECK-NEXT: %[[RESHAPE5:.*]] = onnx.Reshape %[[ADD2]] : {{.*}} -> tensor<?x1x?x1xi64, #dist.value<dims = [b, 1, s, 1]>>
// CHECK-NEXT: %[[RESHAPE6:.*]] = onnx.Reshape %[[ADD]] : {{.*}} -> tensor<?x1x1x1xi64, #dist.value<dims = [b, 1, 1, 1]>>
// CHECK-NEXT: %[[LESS:.*]] = onnx.Less %[[RANGE2]], %[[RESHAPE6]] : {{.*}} -> tensor<?x1x1x?xi1, #dist.value<dims = [b, 1, 1, s]>>
// CHECK-NEXT: %[[LESSOREQUAL:.*]] = onnx.LessOrEqual %[[RANGE2]], %[[RESHAPE5]] : {{.*}} -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, s]>>
// CHECK-NEXT: %[[AND:.*]] = onnx.And %[[LESS]], %[[LESSOREQUAL]] : {{.*}} -> tensor<?x1x?x?xi1, #dist.value<dims = [b, 1, s, s]>>
// CHECK-NEXT: %[[ATTENTION:.*]] = onnx.Attention %[[RMSNORMALIZATION]], %[[RMSNORMALIZATION2]], %[[TRANSPOSE3]], %[[AND]] {scale = 2.500000e-01 : f32} : {{.*}} -> tensor<?x8x?x16xf32, #dist.value<dims = [b, 8, s, 16]>>
// CHECK-NEXT: %[[TRANSPOSE4:.*]] = onnx.Transpose %[[ATTENTION]] {perm = array<i64: 0, 2, 1, 3>} : {{.*}} -> tensor<?x?x8x16xf32, #dist.value<dims = [b, s, 8, 16]>>
// CHECK-NEXT: %[[RESHAPE7:.*]] = onnx.Reshape %[[TRANSPOSE4]] : {{.*}} -> tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>
// CHECK-NEXT: return %[[RESHAPE7]]
func.func @norms(%q: tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, %k: tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, %v: tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, %last: tensor<?xi32, #dist.value<dims = [b]>>, %total: tensor<i32>, %qn: tensor<16xf32>, %kn: tensor<16xf32>) -> (!u) {
  %none = onnx.None : () -> none
  %y = onnx.microsoft.GroupQueryAttention %q, %k, %v, %none, %none, %last, %total, %none, %none, %none, %none, %none, %none, %none, %qn, %kn {kv_num_heads = 4 : i64, num_heads = 8 : i64, smooth_softmax = 0 : i64} : (tensor<?x?x128xf32, #dist.value<dims = [b, s, 128]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, tensor<?x?x64xf32, #dist.value<dims = [b, s, 64]>>, none, none, tensor<?xi32, #dist.value<dims = [b]>>, tensor<i32>, none, none, none, none, none, none, none, tensor<16xf32>, tensor<16xf32>) -> !u
  return %y : !u
}

// A cache with room, and a total length that only the data knows: it is read.
// CHECK-LABEL: func.func @read_length(
// CHECK: onnx.Guard #dist.dims<[{{.*}}:0{{.*}}]> "at_most" #dist.dims<[7]>
// CHECK: onnx.ReadSizes %arg3
// CHECK: onnx.CacheAppend {{.*}}in_capacity{{.*}} -> tensor<2x1x7x16xf32>
func.func @read_length(%x: tensor<2x1x16xf32>, %p: tensor<2x1x7x16xf32>, %n: tensor<2xi32>, %t: tensor<i32>) -> (!u, !u, !u) {
  %y:3 = onnx.microsoft.GroupQueryAttention %x, %x, %x, %p, %p, %n, %t {num_heads = 1 : i64, kv_num_heads = 1 : i64} : (tensor<2x1x16xf32>, tensor<2x1x16xf32>, tensor<2x1x16xf32>, tensor<2x1x7x16xf32>, tensor<2x1x7x16xf32>, tensor<2xi32>, tensor<i32>) -> (!u, !u, !u)
  return %y#0, %y#1, %y#2 : !u, !u, !u
}
