//===- Pages.td - Keys and values in pages --------------------------------===//

include "dialects/onnx/Onnx.td"

def Onnx_PageWriteOp : Onnx_OwnOp<"PageWrite"> {
  let summary = "New entries at their places in the pages of a cache";
  let description = [{
    pool [n, .., c, ..] of n pages with room for c positions along `axis`, added
    [1, .., t, ..], slots [t], copies [m, 2] -> pool: page copies[i, 1] becomes
    what page copies[i, 0] is, one after the other; then added[0, .., i, ..] is at
    place slots[i] % c of page slots[i] / c; all else is as it was. An entry whose
    slot is negative is nowhere. Dim 0 is not `axis`.

        pool [2, 3, 4], axis 1, slots [4, 0]: entry 0 is pool[1, 1, :],
                                              entry 1 is pool[0, 0, :]

    Not an operator of ONNX: the caches of a step of rows become it
    (passes/import/rows).
  }];
  let arguments = (ins AnyTensor:$pool, AnyTensor:$added, AnyTensor:$slots,
                       AnyTensor:$copies, I64Attr:$axis);
  let results = (outs AnyTensor:$result);
}

def Onnx_PagedAttentionOp : Onnx_OwnOp<"PagedAttention", ["multiplyAdds"]> {
  let extraClassDeclaration = Onnx_Structure<"attention", 0>.declaration;
  let summary = "Attention of rows of different lengths to keys in pages";
  let description = [{
    query [1, h, t, d], keys [n, kv, c, d], values [n, kv, c, e], pages [r, p],
    past [r], first [r + 1], mask, sinks [h] -> [1, h, t, e].

    Row i has queries first[i] to first[i + 1] of the t, and keys 0 to
    past[i] + (first[i + 1] - first[i]): key j is place j % c of page
    pages[i, j / c]. Its first query stands behind past[i] keys, which is what
    causality and windows count from; where nothing does, it may be negative, of a
    row with more queries than keys. Queries of no row are zeros.

    The mask is [1, 1 or h, t, p * c], for each query, or
    [r or 1, 1 or h, 1, p * c], for all of a row. Keys of 8 bits are times their
    scales [n, kv, c, 1], f32, and so are values. All else is as in Attention.
  }];
  let arguments = (ins AnyTensor:$query, AnyTensor:$keys, AnyTensor:$values,
                       AnyTensor:$pages, AnyTensor:$past, AnyTensor:$first,
                       Variadic<Onnx_Value>:$optional_inputs,
                       DefaultValuedAttr<I64Attr, "0">:$is_causal,
                       F32Attr:$scale,
                       DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       DefaultValuedAttr<I64Attr, "0">:$window,
                       DefaultValuedAttr<StrAttr, "\"hidden\"">:$zero_rows);
  let results = (outs AnyTensor:$result);
}

def Onnx_PagedAttentionPartsOp
    : Onnx_OwnOp<"PagedAttentionParts", ["multiplyAdds"]> {
  let extraClassDeclaration = Onnx_Structure<"attention", 0>.declaration;
  let summary = "What queries see of each part of the places of pages";
  let description = [{
    As PagedAttention, but that places of a page are in `parts` equal parts, and
    each part is seen by itself -> [parts, h, t, e + 2], in f32 or f64: values
    relative to the largest score, not divided by the sum; that score; the sum.
    Queries of no row have zeros of score 0 and sum 1.

        c = 16, parts = 2: part 0 has keys 0-7, 16-23, .., part 1 has 8-15, ..

    Ranks that would hold copies of the same keys have a part of them instead.
    MergeAttention makes the result of it.
  }];
  let arguments = (ins AnyTensor:$query, AnyTensor:$keys, AnyTensor:$values,
                       AnyTensor:$pages, AnyTensor:$past, AnyTensor:$first,
                       Variadic<Onnx_Value>:$optional_inputs,
                       I64Attr:$parts,
                       DefaultValuedAttr<I64Attr, "0">:$is_causal,
                       F32Attr:$scale,
                       DefaultValuedAttr<F32Attr, "0.0f">:$softcap,
                       DefaultValuedAttr<I64Attr, "0">:$window);
  let results = (outs AnyTensor:$result);
}

def Onnx_MergeAttentionOp : Onnx_OwnOp<"MergeAttention"> {
  let summary = "The attention of which others computed parts";
  let description = [{
    seen [parts, h, t, e + 2] of PagedAttentionParts, sinks [h] -> [1, h, t, e].
    `zero_rows` and sinks are as in Attention.
  }];
  let arguments = (ins AnyTensor:$seen, Variadic<Onnx_Value>:$optional_inputs,
                       DefaultValuedAttr<StrAttr, "\"hidden\"">:$zero_rows);
  let results = (outs AnyTensor:$result);
}
