"""Attention of ONNX and of ONNX Runtime."""

import numpy as np

from tests.fuzz.operators.case import F32, I32, I64, MICROSOFT, case


def onnx_attention(draw):
    batch, kv, groups, queries, keys, past = draw.int(1, 2), draw.int(1, 2), draw.int(1, 2), draw.int(1, 4), draw.int(1, 5), draw.int(1, 3)
    size, heads = 4, kv * groups
    flat, opset = draw.chance(0.5), draw.one(23, 24)

    def value(count, length):
        return draw.floats(batch, length, count * size) if flat else draw.floats(batch, count, length, size)

    operands = [value(heads, queries), value(kv, keys), value(kv, keys)]
    external = opset == 24 and draw.chance(0.3)
    cached = not external and draw.chance(0.5)
    total = keys + past if cached else keys
    mask = draw.one(None, draw.floats(queries, total), draw.ints(0, 1, batch, 1, queries, total, dtype=np.bool_))
    if mask is not None and mask.dtype == np.bool_:
        mask[..., 0] = True  # each query sees a key
    operands += [mask] + [draw.floats(batch, kv, past, size) if cached else None for _ in range(2)]
    if external:
        operands.append(draw.ints(1, keys, batch))
    counts = {"q_num_heads": heads, "kv_num_heads": kv}
    attributes = counts if flat or draw.chance(0.5) else {}
    attributes |= draw.some({"is_causal": draw.int(0, 1), "scale": 0.3, "softcap": draw.one(None, 2.0)})
    results = draw.one(1, 3, 4) if cached else draw.one(1, 1, 4)
    attributes |= {"qk_matmul_output_mode": draw.int(0, 3)} if results == 4 and draw.chance(0.5) else {}
    if results == 4 and attributes.get("qk_matmul_output_mode", 0) == 0:
        attributes.pop("softcap", None)  # onnx.reference gives the capped product, ONNX's text the product itself
    unused = (1, 2) if results == 4 and not cached else draw.one((), (3,)) if results == 4 else ()
    while operands[-1] is None:
        operands.pop()
    return case(draw, "Attention", *operands, opset=opset, results=results, unused=unused, references=("onnx",), tolerance=1e-3, **attributes)


def rotary(draw):
    batch, heads, length, size = draw.int(1, 2), draw.int(1, 3), draw.int(1, 4), 2 * draw.int(1, 3)
    flat = draw.chance(0.4)
    x = draw.floats(batch, length, heads * size) if flat else draw.floats(batch, heads, length, size)
    caches = [draw.floats(9, size // 2), draw.floats(9, size // 2), draw.ints(0, 8, batch, length)]
    if draw.chance(0.3):
        caches = [draw.floats(batch, length, size // 2), draw.floats(batch, length, size // 2)]
    return case(draw, "RotaryEmbedding", x, *caches, opset=23, references=("onnx",), num_heads=heads if flat else 0, **draw.some({"interleaved": draw.int(0, 1)}))


def group_query(draw):
    """Steps and prompts, with a cache that grows or has room."""
    batch, kv, groups, added, size = draw.int(1, 2), draw.int(1, 2), draw.int(1, 2), draw.int(1, 3), 16
    heads, past = kv * groups, draw.int(0, 4)
    batch = 1 if added > 1 and past else batch  # ONNX Runtime wants it
    room = draw.chance(0.5)
    prompt = past == 0
    capacity = past + added + draw.int(0, 3) if room else past
    q, k, v = draw.floats(batch, added, heads * size), draw.floats(batch, added, kv * size), draw.floats(batch, added, kv * size)
    cache = [draw.floats(batch, kv, capacity, size) for _ in range(2)] if capacity else [None, None]
    last = np.full(batch, past + added - 1, I32)
    if added == 1 and past and draw.chance(0.5):
        last[0] = draw.int(0, past)  # a shorter row
    total = np.array(past + added, I32)
    more = draw.some({"scale": 0.3, "softcap": draw.one(None, 3.0), "local_window_size": draw.one(None, 2)})
    rotate = draw.chance(0.4)
    operands = [q, k, v, *cache, last, total]
    if rotate:
        operands += [draw.floats(32, size // 2), draw.floats(32, size // 2)]
        more |= {"do_rotary": 1, "rotary_interleaved": draw.int(0, 1)}
    fixed = (6, 7, 8) if draw.chance(0.6) or prompt else (7, 8)
    return case(draw, "GroupQueryAttention", *operands, weights=fixed, results=3, opset=17, domain=MICROSOFT, references=("ort",), tolerance=2e-3,
                num_heads=heads, kv_num_heads=kv, **more)  # fmt: skip


def multi_head(draw):
    batch, heads, queries, keys, size = draw.int(1, 2), draw.int(1, 3), draw.int(1, 4), draw.int(1, 4), 4
    q, k, v = (draw.floats(batch, n, heads * size) for n in (queries, keys, keys))
    bias = draw.one(None, draw.floats(3 * heads * size))
    padding = draw.one(None, np.array([draw.int(1, keys) for _ in range(batch)], I32))
    scores = draw.one(None, draw.floats(1, 1, queries, keys), draw.floats(batch, heads, queries, keys))
    operands = [q, k, v, bias, padding, scores]
    while operands[-1] is None:
        operands.pop()
    return case(draw, "MultiHeadAttention", *operands, weights=(3,), opset=17, domain=MICROSOFT, references=("ort",), tolerance=1e-3, num_heads=heads,
                **draw.some({"scale": 0.3, "mask_filter_value": -1000.0}))  # fmt: skip


FAMILIES = {f.__name__: f for f in (onnx_attention, rotary, group_query, multi_head)}
