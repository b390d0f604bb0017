//===- Cache.td - Caches of keys and values -------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_CacheAppendOp : Onnx_OwnOp<"CacheAppend", [], [], "lowerIndexing"> {
  let extraClassDeclaration = Onnx_Structure<"KV cache with lengths", 0>.declaration;
  let summary = "Each row's new entries behind those that it holds";
  let description = [{
    past [b, kv, p, d], added [b, kv, s, d], lengths [b] -> [b, kv, t, d]: row i
    is past[i, :, :lengths[i]], then added[i], then zeros. t is p + s, or p with
    `in_capacity`: then past has room for what is added.

    Not an operator of ONNX: operators with a cache become it whose rows differ
    in length.
  }];
  let arguments = (ins AnyTensor:$past, AnyTensor:$added, AnyTensor:$lengths,
                       UnitAttr:$in_capacity);
  let results = (outs AnyTensor:$result);
}
