"""ONNX Runtime's own operators in their layouts, masks and packings."""

import numpy as np
from onnx import TensorProto, helper

from tests.fuzz.operators.case import F32, I8, I32, I64, MICROSOFT, U8, case

MORE = {"domain": MICROSOFT, "references": ("ort",), "opset": 17}


def trimmed(operands):
    while operands and operands[-1] is None:
        operands.pop()
    return operands


def padding(draw, batch, queries, keys, *more):
    """A mask in any of its forms, or none."""
    form = draw.one(None, "lengths", "keys", "queries", *more)
    if form == "lengths":
        return draw.ints(1, keys, batch, dtype=I32)
    if form == "ranges":
        return np.concatenate([np.full(batch, keys), draw.ints(0, keys - 1, batch)]).astype(I32)
    if form == "keys":
        return draw.ints(0, 1, batch, keys, dtype=I32)
    return draw.ints(0, 1, batch, queries, keys, dtype=I32) if form == "queries" else None


def projected_attention(draw):
    batch, heads, queries, past, size = draw.int(1, 3), draw.int(1, 3), draw.int(1, 4), draw.one(0, 0, 2), 4
    hidden = heads * size
    wide = draw.chance(0.3) and not past
    sizes = [hidden, hidden, 2 * hidden] if wide else [hidden] * 3
    x, w = draw.floats(batch, queries, 5), draw.floats(5, sum(sizes))
    bias = draw.one(None, draw.floats(1, 1, queries, queries), draw.floats(batch, heads, queries, queries)) if not past else None
    cache = draw.floats(2, batch, heads, past, size) if past else None
    mask = padding(draw, batch, queries, queries + past, "ranges")
    operands = trimmed([x, w, draw.floats(sum(sizes)), mask, cache, bias])
    more = draw.some({"scale": 0.4, "mask_filter_value": draw.one(-500.0, -3.4028234663852886e38), "unidirectional": draw.int(0, 1)})
    more |= {"qkv_hidden_sizes": sizes} if wide else {}
    return case(draw, "Attention", *operands, weights=(1, 2, 3), results=2 if past else 1, tolerance=1e-3, num_heads=heads, **more, **MORE)


def head_layouts(draw):
    """Packed operands, caches, and keys of another number than queries."""
    batch, heads, queries, keys, past, size = draw.int(1, 2), draw.int(1, 3), draw.int(1, 4), draw.int(1, 4), draw.one(0, 0, 2), 4
    form = draw.one("packed", "pair", "apart", "apart", "apart", "cache", "cache")
    keys = queries if form == "packed" or past else keys
    bias = draw.one(None, draw.floats(3 * heads * size)) if form in ("packed", "apart") else None
    past = past if form == "apart" else 0
    more = draw.some({"scale": 0.4, "mask_filter_value": draw.one(-1000.0, -3.4028234663852886e38), "unidirectional": draw.one(None, 1)})
    flat = draw.floats(batch, queries, heads * size)
    if form == "packed":
        operands = [draw.floats(batch, queries, heads, 3, size), None, None]
    elif form == "pair":
        operands = [flat, draw.floats(batch, keys, heads, 2, size), None]
    elif form == "cache":
        operands = [flat, *(draw.floats(batch, heads, keys, size) for _ in range(2))]
    else:
        operands = [flat, *(draw.floats(batch, keys, heads * size) for _ in range(2))]
    total = keys + past
    scores = draw.one(None, draw.floats(1, 1, queries, total), draw.floats(batch, heads, queries, total))
    mask = padding(draw, batch, queries, total)
    operands += [bias, mask, scores, *(draw.floats(batch, heads, past, size) if past else None for _ in range(2))]
    return case(draw, "MultiHeadAttention", *trimmed(operands), weights=(3, 4), results=3 if past else 1, tolerance=1e-3, num_heads=heads, **more, **MORE)


def group_query_forms(draw):
    """Packed queries, sinks, biases, positions and windows."""
    kv, groups, added, size, past = draw.int(1, 2), draw.int(1, 2), draw.int(1, 4), 16, draw.one(0, 3, 5)
    heads = kv * groups
    batch = 1 if added > 1 and past else draw.int(1, 2)
    total = past + added
    room = total + draw.int(0, 2) if draw.chance(0.5) else past
    operands = [draw.floats(batch, added, n * size) for n in (heads, kv, kv)]
    if draw.chance(0.3):
        operands = [np.concatenate(operands, 2), None, None]
    operands += [draw.floats(batch, kv, room, size) for _ in range(2)] if room else [None, None]
    last = np.full(batch, total - 1, I32)
    if added == 1 and past and draw.chance(0.5):
        last[0] = draw.int(0, past)
    more = draw.some({"scale": 0.3, "softcap": draw.one(None, 3.0), "local_window_size": draw.one(None, 2, 4)})
    more |= draw.some({"smooth_softmax": draw.int(0, 1)})
    operands += [last, np.array(total, I32)]
    rotate = draw.chance(0.5)
    operands += [draw.floats(32, size // 2), draw.floats(32, size // 2)] if rotate else [None, None]
    more |= {"do_rotary": 1, "rotary_interleaved": draw.int(0, 1)} if rotate else {}
    ids = draw.ints(0, 20, batch, added) if rotate and draw.chance(0.4) else None
    bias = draw.one(None, draw.floats(1, 1, added, total), draw.floats(batch, heads, added, total))
    sink = draw.one(None, draw.floats(heads)) if not more.get("smooth_softmax") else None
    return case(draw, "GroupQueryAttention", *trimmed([*operands, ids, bias, sink]), weights=(6, 7, 8), results=3, tolerance=2e-3, num_heads=heads,
                kv_num_heads=kv, **more, **MORE)  # fmt: skip


def rotary_forms(draw):
    batch, heads, length, pairs = draw.int(1, 2), draw.int(1, 3), draw.int(1, 4), draw.int(1, 4)
    part = draw.chance(0.4)
    size = 2 * pairs + (2 * draw.int(1, 2) if part else 0)
    flat = part or draw.chance(0.5)
    x = draw.floats(batch, length, heads * size) if flat else draw.floats(batch, heads, length, size)
    ids = np.array([draw.int(0, 4)], I64) if draw.chance(0.5) else draw.ints(0, 8, batch, length)
    more = {"num_heads": heads, "rotary_embedding_dim": 2 * pairs} if part else {}
    return case(draw, "RotaryEmbedding", x, ids, draw.floats(9, pairs), draw.floats(9, pairs), interleaved=draw.int(0, 1), **more, **MORE)


def skip_norms(draw):
    """Skips of one row of the batch, biases, and the sum as a result."""
    b, s, h = draw.shape(3, low=2)
    simple = draw.chance(0.5)
    skip = draw.one(draw.floats(b, s, h), draw.floats(1, s, h), draw.floats(s, h))
    beta = [] if simple else [draw.one(None, draw.floats(h))]
    operands = trimmed([draw.floats(b, s, h), skip, draw.floats(h), *beta, draw.one(None, draw.floats(h))])
    op = "SkipSimplifiedLayerNormalization" if simple else "SkipLayerNormalization"
    return case(draw, op, *operands, results=4, unused=(1, 2), **draw.some({"epsilon": 1e-3}), **MORE)


def embeddings(draw):
    batch, length, size = draw.int(1, 3), draw.int(1, 4), 4
    ids = draw.ints(0, 8, batch, length, dtype=I32)
    kinds = draw.one(None, draw.ints(0, 1, batch, length, dtype=I32))
    mask = draw.one(None, draw.ints(0, 1, batch, length, dtype=I32))
    places = draw.one(None, draw.ints(0, 5, batch, length, dtype=I32))
    tables = [draw.floats(9, size), draw.floats(6, size), None if kinds is None else draw.floats(2, size), draw.floats(size), draw.floats(size)]
    operands = trimmed([ids, kinds, *tables, mask, places])
    made = case(draw, "EmbedLayerNormalization", *operands, weights=(2, 3, 4, 5, 6), results=3, **draw.some({"epsilon": 1e-3}), **MORE)
    made.elements = {"y1": TensorProto.INT32}
    return made


def fused_products(draw):
    op = draw.one("FusedMatMul", "FusedGemm", "FusedConv")
    if op == "FusedConv":
        x, w = draw.floats(2, 4, *draw.shape(2, low=4, high=6)), draw.floats(6, 4, 2, 3)
        bias = draw.floats(6)
        act = draw.one(("Relu", None), ("Sigmoid", None), ("Tanh", None), ("LeakyRelu", [0.3]), ("HardSigmoid", [0.3, 0.4]), ("Clip", [-0.5, 0.7]))
        more = {"activation": act[0]} | ({"activation_params": act[1]} if act[1] else {})
        more |= draw.some({"strides": draw.shape(2, high=2), "pads": [draw.int(0, 1) for _ in range(4)], "dilations": draw.shape(2, high=2)})
        return case(draw, op, x, w, bias, weights=(1, 2), **more, **MORE)
    m, k, n = draw.shape(3, low=2)
    ta, tb = draw.int(0, 1), draw.int(0, 1)
    more = draw.some({"alpha": 0.5})
    if op == "FusedGemm":
        a, b = draw.floats(k, m) if ta else draw.floats(m, k), draw.floats(n, k) if tb else draw.floats(k, n)
        c = draw.one(None, draw.floats(n), draw.floats(m, n), draw.floats(m, 1))
        act = draw.one("Relu", "Sigmoid", "Tanh", "LeakyRelu")
        more |= {"activation_alpha": 0.2} if act == "LeakyRelu" else {}
        return case(draw, op, *trimmed([a, b, c]), transA=ta, transB=tb, activation=act, **more, **draw.some({"beta": -0.7}), **MORE)
    lead = draw.shape(2)
    ba, bb = (draw.int(0, 1), draw.int(0, 1)) if draw.chance(0.5) else (0, 0)
    a = np.ascontiguousarray(draw.floats(*lead, k, m) if ta else draw.floats(*lead, m, k))
    b = np.ascontiguousarray(draw.floats(*lead, n, k) if tb else draw.floats(*lead, k, n))
    a = np.ascontiguousarray(np.moveaxis(a, -2, 0)) if ba else a
    b = np.ascontiguousarray(np.moveaxis(b, -2, 0)) if bb else b
    return case(draw, op, a, b, transA=ta, transB=tb, transBatchA=ba, transBatchB=bb, **more, **MORE)


def bit_blocks(draw):
    """Numbers as zero points, biases, blocks that reach beyond the features, tables."""
    if draw.chance(0.4):
        bits, block, rows, count = draw.one(2, 4, 8), 16, draw.int(2, 5), draw.int(1, 3)
        table = draw.ints(0, 255, rows, block * count * bits // 8, dtype=U8)
        zeros = draw.one(None, draw.ints(0, 255, rows, -(-count * bits // 8), dtype=U8))
        operands = trimmed([table, draw.ints(0, rows - 1, *draw.shape(2)), draw.positive(rows, count), zeros])
        return case(draw, "GatherBlockQuantized", *operands, weights=(0, 2, 3), bits=bits, block_size=block, quantize_axis=1, gather_axis=0, **MORE)
    bits, block, rows, sum_ = draw.one(4, 8, 2), draw.one(16, 32), 8, draw.one(16, 32, 48, 64)
    blocks = -(-sum_ // block)
    zero = draw.one(None, draw.ints(0, 255, rows, -(-blocks * bits // 8), dtype=U8), draw.floats(rows, blocks, scale=3.0))
    bias = draw.one(None, draw.floats(rows))
    operands = [draw.floats(2, 3, sum_), draw.ints(0, 255, rows, blocks, block * bits // 8, dtype=U8), draw.positive(rows, blocks), zero, None, bias]
    return case(draw, "MatMulNBits", *trimmed(operands), weights=(1, 2, 3, 5), tolerance=2e-3, K=sum_, N=rows, bits=bits, block_size=block, **MORE)


def integer_ops(draw):
    op = draw.one("MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QGemm", "QLinearSoftmax", "QLinearConcat", "QLinearAveragePool", "QLinearGlobalAveragePool")
    m, k, n = draw.shape(3, low=2)
    columns = draw.chance(0.5)
    scale = draw.positive(n) if columns else F32(0.03)
    kind = draw.one(U8, I8)
    zero = draw.one(None, draw.ints(0, 9, *([n] if columns else []), dtype=kind))
    if op == "MatMulIntegerToFloat":
        stack = [] if columns else draw.one([], [2])
        a, b = draw.ints(0, 255, 2, m, k, dtype=U8), draw.ints(0, 60, *stack, k, n, dtype=kind)  # of more ONNX Runtime's pairs of products overflow
        operands = [a, b, F32(0.02), scale, draw.one(None, U8(7)), zero, draw.one(None, draw.floats(n))]
        return case(draw, op, *trimmed(operands), weights=(1, 2, 3, 4, 5, 6), **MORE)
    if op == "DynamicQuantizeMatMul":
        operands = [draw.floats(2, m, k), draw.ints(0, 60, k, n, dtype=kind), scale, zero, draw.one(None, draw.floats(n))]
        return case(draw, op, *trimmed(operands), weights=(1, 2, 3, 4), **(MORE | {"tolerance": 2e-3}))
    target = [F32(draw.choices.uniform(0.01, 0.5)), U8(draw.int(50, 200))]
    if op == "QGemm":
        ta, tb = draw.int(0, 1), draw.int(0, 1)
        a = draw.ints(0, 255, *((k, m) if ta else (m, k)), dtype=U8)
        b = draw.ints(-60, 60, *((n, k) if tb else (k, n)), dtype=I8)
        bias = draw.one(None, draw.ints(-3000, 3000, n, dtype=I32))
        operands = [a, F32(0.02), U8(9), b, F32(0.03), I8(2), bias, *draw.one([None, None], target)]
        element = TensorProto.FLOAT if operands[-1] is None else TensorProto.UINT8
        return case(draw, op, *trimmed(operands), weights=tuple(range(1, 9)), transA=ta, transB=tb, element=element, steps=1, **draw.some({"alpha": 0.5}), **MORE)

    def value(*dims):
        return [draw.ints(0, 255, *dims, dtype=U8), F32(draw.choices.uniform(0.01, 0.1)), U8(draw.int(0, 255))]

    integers = {"steps": 1, "element": TensorProto.UINT8} | MORE
    if op == "QLinearSoftmax":
        return softmax(draw, value, integers)
    if op == "QLinearConcat":
        shape, axis = draw.shape(3), draw.int(0, 2)
        parts = []
        for _ in range(draw.int(1, 3)):
            parts += value(*(draw.int(1, 4) if d == axis else size for d, size in enumerate(shape)))
        return case(draw, op, *target, *parts, weights=tuple(i for i in range(20) if i % 3 != 2), axis=axis, **integers)
    last = draw.int(0, 1)
    image = draw.shape(2, low=3, high=6)
    operands = [*value(2, *([*image, 3] if last else [3, *image])), *target]
    if op == "QLinearGlobalAveragePool":
        return case(draw, op, *operands, weights=(1, 2, 3, 4), channels_last=last, **integers)
    more = draw.some({"strides": draw.shape(2, high=2), "pads": [draw.int(0, 1) for _ in range(4)], "count_include_pad": draw.int(0, 1), "ceil_mode": 1})
    return case(draw, op, *operands, weights=(1, 2, 3, 4), kernel_shape=draw.shape(2, low=2, high=3), channels_last=last, **more, **integers)


def softmax(draw, value, integers):
    # Of rows of one element ONNX Runtime makes 0 in place of 1.
    made = case(draw, "QLinearSoftmax", *value(*draw.shape(3, low=2)), F32(1 / 255), U8(0), weights=(1, 2, 3, 4), axis=draw.int(-3, 2), **integers)
    made.nodes[0].attribute.append(helper.make_attribute("opset", draw.one(11, 13)))
    return made


def chosen_experts(draw):
    """Of a few networks, of floats or of bits."""
    tokens, many, hidden, inner = draw.int(1, 4), draw.int(2, 4), 16, 32
    k = draw.int(1, 2)
    x, router = draw.floats(tokens, hidden), draw.floats(tokens, many)
    quantized = draw.chance(0.5)
    # ONNX Runtime's QMoE on a CPU knows swiglu of pairs alone.
    activation = "swiglu" if quantized else draw.one("relu", "gelu", "silu", "identity", "swiglu")
    columns = 2 * inner if activation == "swiglu" else inner
    more = {"activation_type": activation, "k": k} | draw.some({"normalize_routing_weights": draw.int(0, 1)})
    more |= {"normalize_routing_weights": 1} if quantized else {}  # there its CPU kernel always does
    if activation == "swiglu":
        more |= {"swiglu_fusion": 1} | draw.some({"activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 1.5})
    biases = draw.chance(0.5)
    if not quantized:
        operands = [x, router, draw.floats(many, columns, hidden, scale=0.3), draw.floats(many, columns) if biases else None,
                    draw.floats(many, hidden, inner, scale=0.3), draw.floats(many, hidden) if biases else None]  # fmt: skip
        return case(draw, "MoE", *trimmed(operands), weights=(2, 3, 4, 5), tolerance=1e-3, **more, **MORE)
    bits = draw.one(4, 8)
    operands = [x, router]
    for rows, size in ((columns, hidden), (hidden, inner)):
        operands += [draw.ints(0, 255, many, rows, size * bits // 8, dtype=U8), draw.positive(many, rows) * F32(0.05), draw.floats(many, rows) if biases else None]
    return case(draw, "QMoE", *trimmed(operands), weights=tuple(range(2, 8)), tolerance=2e-2, expert_weight_bits=bits, **more, **MORE)


def borders(draw):
    shape = draw.shape(2, low=2)
    mode = draw.one("constant", "edge", "reflect")
    pads = np.array([draw.int(0, 1) for _ in range(4)], I64)
    operands = [draw.floats(*shape), pads] + ([F32(1.5)] if mode == "constant" else [])
    return case(draw, "Pad", *operands, weights=(1, 2), mode=mode, **MORE)


FAMILIES = {
    f.__name__: f
    for f in (projected_attention, head_layouts, group_query_forms, rotary_forms, skip_norms, embeddings, fused_products, bit_blocks, integer_ops,
              chosen_experts, borders)
}  # fmt: skip
