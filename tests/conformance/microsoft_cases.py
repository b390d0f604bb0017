"""Nodes of domain com.microsoft, and what ONNX Runtime computes for them on the CPU.

ONNX has no reference for these. Expected outputs stand in microsoft.npz as CASE/NUMBER; with onnxruntime installed

    python -m tests.conformance.microsoft_cases     records those of new cases
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import helper, numpy_helper

RECORDED = Path(__file__).with_name("microsoft.npz")
DOMAIN = "com.microsoft"


@dataclass
class Case:
    name: str
    node: object
    inputs: dict  # name -> array
    weights: dict
    has_symbols: bool  # is the first dim known by name only?
    tolerance: float  # of integers in steps, of floats relative to the largest
    expected: list = field(default_factory=list)


class Collector:
    def __init__(self):
        self.cases = []
        self.random = np.random.default_rng(7)

    def floats(self, *dims, scale=1.0):
        return (self.random.standard_normal(dims) * scale).astype(np.float32)

    def bytes(self, *dims, dtype=np.uint8):
        info = np.iinfo(dtype)
        return self.random.integers(info.min, info.max + 1, dims).astype(dtype)

    def add(self, name, inputs, weights=(), outputs=1, tolerance=1e-4, has_symbols=True, **attributes):
        """`inputs` come first; None: absent. Names like Op.variant."""
        operands = [*inputs, *weights]
        names = ["" if data is None else f"{name}/{i}" for i, data in enumerate(operands)]
        results = [f"{name}/out{i}" for i in range(outputs)]
        node = helper.make_node(name.split(".")[0], names, results, name, domain=DOMAIN, **attributes)
        given = {n: np.asarray(data) for n, data in zip(names, operands) if data is not None}
        fed = {n: given[n] for n in names[: len(inputs)] if n}
        self.cases.append(Case(name, node, fed, {n: given[n] for n in given if n not in fed}, has_symbols, tolerance))


def experts(c):
    """Tokens of 32, 5 experts of 48."""
    tokens, many, wide, count = 32, 5, 48, 7
    x, router = c.floats(count, tokens), c.floats(count, many)

    def weights(columns=wide, biases=True, gate=False):
        def projection(out, size):
            return [c.floats(many, out, size, scale=0.2), c.floats(many, out) if biases else None]

        more = projection(wide, tokens) if gate else []
        return [*projection(columns, tokens), *projection(tokens, wide), *more]

    for activation in ("relu", "gelu", "silu", "identity"):
        c.add(f"MoE.{activation}", [x, router], weights(), activation_type=activation, k=2)
    c.add("MoE.normalized", [x.reshape(1, count, tokens), router], weights(biases=False),
          activation_type="silu", k=3, normalize_routing_weights=1)  # fmt: skip
    swiglu = {"activation_type": "swiglu", "k": 2, "normalize_routing_weights": 1}
    c.add("MoE.pairs", [x, router], weights(2 * wide), swiglu_fusion=1, swiglu_limit=1.5,
          activation_alpha=1.702, activation_beta=1.0, **swiglu)  # fmt: skip

    def quantized(bits, columns, block, zeros):
        operands, points = [], []
        for out, size in ((columns, tokens), (tokens, wide)):
            blocks = [size // block] if block else []
            operands += [c.bytes(many, out, size * bits // 8), np.abs(c.floats(many, out, *blocks, scale=0.02)),
                         c.floats(many, out)]  # fmt: skip
            packed = [-(-blocks[0] * bits // 8)] if block else []
            points.append(c.bytes(many, out if block else out * bits // 8, *packed) if zeros else None)
        return [*operands, None, None, None, *points]

    for bits, block, zeros in ((4, 0, False), (8, 0, False), (4, 16, False), (8, 16, False), (8, 16, True)):
        # ONNX Runtime multiplies blocks of 8 bits by rows that it rounds to 8 bits.
        tolerance = 1e-2 if bits == 8 and block else 1e-4
        name = f"QMoE.{bits}bits{'.blocks' if block else ''}{'.zeros' if zeros else ''}"
        sizes = {"block_size": block} if block else {}
        c.add(name, [x, router], quantized(bits, 2 * wide, block, zeros), swiglu_fusion=1, expert_weight_bits=bits,
              tolerance=tolerance, **swiglu, **sizes)  # fmt: skip


def quantized(c):
    """Ops on integers with scale and zero point."""
    one = np.float32

    def value(*dims, dtype=np.uint8, zero=121, scale=0.05):
        return [c.bytes(*dims, dtype=dtype), one(scale), None if zero is None else np.array(zero, dtype)]

    def target(zero=130, scale=0.07, dtype=np.uint8):
        return [one(scale), np.array(zero, dtype)]

    def add(name, *operands, inputs=1, **attributes):
        flat = [part for operand in operands for part in operand]
        c.add(name, flat[:inputs], flat[inputs:], tolerance=1, **attributes)

    signed = {"dtype": np.int8, "zero": -3}
    for op in ("QLinearAdd", "QLinearMul"):
        add(op, value(4, 3, 5), value(3, 5, zero=90, scale=0.02), target())
        add(f"{op}.signed", value(4, 5, **signed), value(1, 5, **signed), target(5, 0.1, np.int8))
    for op in ("QLinearSigmoid", "QLinearLeakyRelu"):
        more = {"alpha": 0.2} if op == "QLinearLeakyRelu" else {}
        add(op, value(4, 9), target(3, 0.004), **more)
        add(f"{op}.signed", value(4, 9, **signed), target(3, 0.03, np.int8))
    add("QLinearSoftmax", value(4, 3, 6), target(0, 1 / 255), axis=-1, opset=13)
    add("QLinearSoftmax.rows", value(4, 3, 6, scale=0.02), target(0, 1 / 255), axis=1, opset=12)
    add("QLinearConcat", target(), value(4, 3), value(4, 2, zero=100, scale=0.1), inputs=0, axis=1)
    add("QLinearGlobalAveragePool", value(2, 3, 5, 4), target(), channels_last=0)
    add("QLinearGlobalAveragePool.last", value(2, 5, 4, 3), target(), channels_last=1)
    add("QLinearAveragePool", value(2, 3, 6, 5), target(), kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])
    add("QLinearAveragePool.pads", value(2, 3, 6, 5), target(), kernel_shape=[3, 3], pads=[1, 1, 1, 1],
        count_include_pad=1)  # fmt: skip
    columns = [c.bytes(7, 6, dtype=np.int8), np.abs(c.floats(6, scale=0.01)), np.zeros(6, np.int8)]
    add("QGemm", value(5, 7), columns, [None], target(110, 0.3))
    bias = c.random.integers(-3000, 3000, 6).astype(np.int32)
    add("QGemm.float", value(5, 7), value(6, 7, dtype=np.int8, zero=4, scale=0.01), [bias], transB=1, alpha=0.5)


def attention(c):
    """Two rows of 5 tokens of 16, 4 heads."""
    batch, count, hidden = 2, 5, 16
    zero = [np.array(120, np.uint8), np.array(3, np.int8)]
    weights = [c.bytes(hidden, 3 * hidden, dtype=np.int8), c.floats(3 * hidden), np.float32(0.02), np.float32(0.004)]
    lengths = np.array([5, 3], np.int32)
    past = c.floats(2, batch, 4, 3, hidden // 4)
    for name, mask, cache, more in (
        ("QAttention", None, None, {}),
        ("QAttention.lengths", lengths, None, {}),
        ("QAttention.past", None, past, {"unidirectional": 1}),
    ):
        c.add(name, [c.bytes(batch, count, hidden)], [*weights, mask, *zero, cache],
              outputs=1 if cache is None else 2, tolerance=1e-4, has_symbols=mask is None, num_heads=4, **more)  # fmt: skip


def convolutions(c):
    """Images of 3 channels; the sum, if there is one, comes before the activation."""
    image, filters, bias, summand = c.floats(2, 3, 6, 5), c.floats(4, 3, 2, 2), c.floats(4), c.floats(2, 4, 3, 2)
    strides = {"strides": [2, 2], "kernel_shape": [2, 2]}
    c.add("FusedConv", [image], [filters, bias], activation="Relu", pads=[1, 0, 0, 1], **strides)
    c.add("FusedConv.sum", [image], [filters, bias, summand], activation="LeakyRelu", activation_params=[0.3],
          has_symbols=False, **strides)  # fmt: skip
    c.add("FusedConv.clip", [image], [filters], activation="Clip", activation_params=[-0.5, 1.5], **strides)


def products(c):
    """Matrices of 6 by 8 and 8 by 5, in the orders and with the factors that attributes say."""
    a, b = c.floats(2, 6, 8), c.floats(2, 8, 5)
    turned = {"transA": 1, "transB": 1}
    c.add("FusedMatMul", [a], [b], alpha=0.7)
    c.add("FusedMatMul.turned", [a.swapaxes(1, 2).copy()], [b.swapaxes(1, 2).copy()], alpha=-1.5, **turned)
    c.add("FusedMatMul.batch", [c.floats(6, 2, 8)], [c.floats(8, 2, 5)], transBatchA=1, transBatchB=1, has_symbols=False)
    c.add("TransposeMatMul", [a], [b.swapaxes(1, 2).copy()], alpha=0.25, transB=1)
    for name, act in (("Relu", "Relu"), ("leaky", "LeakyRelu"), ("Sigmoid", "Sigmoid")):
        more = {"activation_alpha": 0.3} if act == "LeakyRelu" else {}
        c.add(f"FusedGemm.{name}", [a[0]], [b[0], c.floats(5)], activation=act, alpha=0.5, beta=2.0, **more)
    quantized, scales = c.bytes(8, 5), np.abs(c.floats(5, scale=0.02))
    c.add("DynamicQuantizeMatMul", [c.floats(6, 8)], [quantized, scales, c.bytes(5), c.floats(5)], tolerance=2e-3)
    c.add("DynamicQuantizeMatMul.whole", [c.floats(6, 8)], [quantized, np.float32(0.03)], tolerance=2e-3)
    whole = [np.float32(0.05), scales, np.array(7, np.uint8), c.bytes(5), c.floats(5)]
    c.add("MatMulIntegerToFloat", [c.bytes(6, 8)], [quantized, *whole])


def others(c):
    """Ids of 2 rows of 5, images of 3 by 4."""
    ids = c.random.integers(0, 11, (2, 5)).astype(np.int32)
    kinds, mask = (ids % 2).astype(np.int32), np.array([[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]], np.int32)
    tables = [c.floats(11, 8), c.floats(5, 8), c.floats(2, 8), c.floats(8), c.floats(8)]
    c.add("EmbedLayerNormalization", [ids, kinds], [*tables, mask], outputs=2, has_symbols=False, epsilon=1e-5)
    c.add("EmbedLayerNormalization.plain", [ids, None], [*tables[:2], None, *tables[3:]], outputs=2, has_symbols=False)
    c.add("Gelu", [c.floats(4, 7)])
    c.add("Pad", [c.floats(3, 4)], [np.array([1, 0, 2, 3], np.int64), np.float32(1.5)], mode="constant", has_symbols=False)
    c.add("Pad.edge", [c.floats(3, 4)], [np.array([1, 2, 0, 1], np.int64)], mode="edge", has_symbols=False)
    c.add("QuantizeLinear", [c.floats(3, 4)], [np.float32(0.02), np.array(120, np.uint8)], tolerance=1)
    c.add("QuantizeLinear.axis", [c.floats(3, 4)], [np.abs(c.floats(4)) + 0.01, c.bytes(4, dtype=np.int8)], axis=1, tolerance=1)
    c.add("DequantizeLinear", [c.bytes(3, 4)], [np.abs(c.floats(4)), c.bytes(4)], axis=1)
    angles = c.floats(16, 4)
    turns = [np.cos(angles), np.sin(angles)]
    places = np.array([[3, 4, 5, 6, 7], [0, 1, 2, 3, 4]], np.int64)
    for name, more in (("", {}), (".neighbours", {"interleaved": 1}), (".part", {"rotary_embedding_dim": 8, "num_heads": 2})):
        x = c.floats(2, 5, 24) if more.get("num_heads") else c.floats(2, 3, 5, 8)
        c.add(f"RotaryEmbedding{name}", [x], [places, *turns], has_symbols=False, **more)
    c.add("RotaryEmbedding.first", [c.floats(2, 5, 16)], [np.array([9], np.int64), *turns], has_symbols=False)
    packed, scales = c.bytes(9, 16), np.abs(c.floats(9, 2))
    indices = c.random.integers(0, 9, (3, 2))
    c.add("GatherBlockQuantized", [], [packed, indices, scales, c.bytes(9, 1)], bits=4, block_size=16,
          quantize_axis=1, gather_axis=0, has_symbols=False)  # fmt: skip
    c.add("GatherBlockQuantized.bytes", [], [packed, indices, scales[:, :1]], bits=8, block_size=16,
          quantize_axis=1, gather_axis=0, has_symbols=False)  # fmt: skip
    x, w, b = c.floats(2, 5, 16), c.floats(16, 48, scale=0.3), c.floats(48)
    past = c.floats(2, 2, 4, 3, 4)
    for name, mask, cache, more in (
        ("", None, None, {}),
        (".causal", None, None, {"unidirectional": 1}),
        (".lengths", np.array([5, 3], np.int32), None, {}),
        (".parts", np.array([5, 4, 1, 0], np.int32), None, {}),
        (".keys", mask, None, {}),
        (".lengths_and_starts", np.array([5, 3, 0, 5, 8, 0, 5, 8], np.int32), None, {}),
        (".no_mask", mask[:, 4:], None, {}),
        (".past", None, past, {"unidirectional": 1}),
        (".scale", None, None, {"scale": 0.3}),
    ):
        c.add(f"Attention{name}", [x], [w, b, mask, cache], outputs=1 if cache is None else 2,
              has_symbols=mask is None and cache is None, num_heads=4, **more)  # fmt: skip


def positions(c):
    """position_ids of GroupQueryAttention, of which a first prompt has the first one alone."""
    angles = c.random.uniform(-3, 3, (40, 8)).astype(np.float32)
    odd = [[0, 1, 2, 3], [1, 1, 0, 1]]
    for name, past, total, ids in (
        ("prompt", 0, 4, odd), ("later", 0, 4, [[5, 6, 7, 8]] * 2), ("roomy_prompt", 9, 4, odd),
        ("roomy_chunk", 9, 7, [[3, 4, 9, 2]]), ("roomy_step", 9, 5, [[6], [2]]), ("one", 9, 1, [[6], [2]])
    ):  # fmt: skip
        ids = np.array(ids, np.int64)
        rows, new = ids.shape
        q, k, v = (c.floats(rows, new, heads * 16) for heads in (2, 1, 1))
        caches = [c.floats(rows, 1, past, 16) for _ in range(2)]
        c.add(f"GroupQueryAttention.{name}", [q, k, v, *caches, np.full(rows, total - 1, np.int32), np.array([total], np.int32), np.cos(angles),
              np.sin(angles), ids], outputs=3, has_symbols=False, num_heads=2, kv_num_heads=1, do_rotary=1)  # fmt: skip


def windowed_caches(c):
    """Caches of the last tokens alone: of the window's size and of more, from nothing, one token or several at a time.

    Those that keep fewer than they have room for leave the rest open, so that all are full, or were never.
    """
    window, angles = 4, c.random.uniform(-3, 3, (40, 8)).astype(np.float32)
    for name, room, totals, new in (
        ("prompt", 4, [3, 3], 3), ("long_prompt", 4, [9], 9), ("first_steps", 4, [3, 1], 1), ("steps", 4, [9, 5], 1), ("chunk", 4, [9], 3),
        ("long_chunk", 4, [12], 7), ("roomy_prompt", 6, [9], 9), ("roomy_step", 6, [9], 1), ("roomy_full", 6, [6], 1), ("roomy_chunk", 6, [12], 4),
    ):  # fmt: skip
        rows = len(totals)
        q, k, v = (c.floats(rows, new, heads * 16) for heads in (2, 1, 1))
        caches = [c.floats(rows, 1, room, 16) for _ in range(2)]
        if max(totals) <= room:  # behind what there is
            for row, total in enumerate(totals):
                for cache in caches:
                    cache[row, :, max(total - new, 0) :] = 0
        last = np.array(totals, np.int32) - 1
        operands = [q, k, v, *caches, last, np.array([max(totals)], np.int32), np.cos(angles), np.sin(angles)]
        for ids in ("", ".ids") if name in ("long_prompt", "chunk") else ("",):
            operands += [np.arange(new)[None] * 2 + 3] if ids else []
            c.add(f"GroupQueryAttention.window_{name}{ids}", operands[:], outputs=3, has_symbols=False, num_heads=2, kv_num_heads=1, do_rotary=1,
                  local_window_size=window, sliding_window_cache=1)  # fmt: skip


def stacks_and_windows(c):
    """Windows that end behind the pads, and products of stacks of integers."""
    target = [np.float32(0.2), np.uint8(100)]
    image = [c.bytes(2, 3, 6, 7), np.float32(0.1), np.uint8(128), *target]
    for inside in (0, 1):
        for name, more in (("", {}), (".pads", {"pads": [1, 0, 0, 1]}), (".far", {"pads": [0, 1, 1, 1], "strides": [3, 3]})):
            attributes = {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1, "count_include_pad": inside} | more
            c.add(f"QLinearAveragePool.ceil{name}.{inside}", image[:1], image[1:], tolerance=1, **attributes)
    a, zero = c.bytes(2, 3, 6, 5), np.uint8(7)
    for name, b, dims in (("stack", c.bytes(3, 5, 4) // 4, ()), ("columns", c.bytes(3, 5, 4) // 4, (3, 1, 4)), ("vector", c.bytes(5) // 4, ())):
        scale, middle = np.full(dims, 0.03, np.float32), np.full(dims, 3, np.uint8)
        c.add(f"MatMulIntegerToFloat.{name}", [a], [b, np.float32(0.02), scale, zero, middle])


def unseeing_rows(c):
    """Rows whose keys are all hidden, by padding or by order, with filters as low as there are."""
    lowest = float(np.finfo(np.float32).min)
    q, k, v = (c.floats(2, 4, 16) for _ in range(3))
    mask = np.array([[0, 0, 1, 1], [1, 1, 0, 0]], np.int32)
    w, b, bias = c.floats(16, 48, scale=0.3), c.floats(48), c.floats(2, 1, 4, 4)
    for filter_value, named in ((lowest, "lowest"), (-1e30, "low"), (-500.0, "finite")):
        for score, with_bias in ((None, ""), (bias, ".bias")):
            more = {"unidirectional": 1, "mask_filter_value": filter_value, "num_heads": 4, "has_symbols": False}
            c.add(f"MultiHeadAttention.unseeing.{named}{with_bias}", [q, k, v], [None, mask, score], **more)
            c.add(f"Attention.unseeing.{named}{with_bias}", [q], [w, b, mask, None, score], **more)


def collect():
    collector = Collector()
    experts(collector)
    quantized(collector)
    attention(collector)
    convolutions(collector)
    products(collector)
    others(collector)
    positions(collector)
    stacks_and_windows(collector)
    unseeing_rows(collector)
    windowed_caches(collector)
    return collector.cases


def to_model(cases):
    """The cases side by side."""
    inputs, weights, outputs = [], [], []
    for case in cases:
        for name, data in case.inputs.items():
            dims = [f"{name}.rows" if case.has_symbols else data.shape[0], *data.shape[1:]]
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), dims))
        weights += [numpy_helper.from_array(data, name) for name, data in case.weights.items()]
        outputs += [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), None)
            for name, data in zip(case.node.output, case.expected)
        ] or [helper.make_empty_tensor_value_info(name) for name in case.node.output]
    graph = helper.make_graph([case.node for case in cases], "cases", inputs, outputs, weights)
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def with_expected(cases):
    with np.load(RECORDED) as recorded:
        for case in cases:
            case.expected = [recorded[f"{case.name}/{i}"] for i in range(len(case.node.output))]
    return cases


def record():
    import onnxruntime

    with np.load(RECORDED) as recorded:
        arrays = dict(recorded)
    for case in collect():
        if f"{case.name}/0" in arrays:
            continue
        session = onnxruntime.InferenceSession(to_model([case]).SerializeToString(), providers=["CPUExecutionProvider"])
        for i, array in enumerate(session.run(None, case.inputs)):
            arrays[f"{case.name}/{i}"] = array
    np.savez_compressed(RECORDED, **arrays)


if __name__ == "__main__":
    record()
