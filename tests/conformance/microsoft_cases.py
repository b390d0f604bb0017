"""Nodes of domain com.microsoft, and what ONNX Runtime computes for them on the CPU.

ONNX has no reference for these. Expected outputs stand in microsoft.npz as CASE/NUMBER; with onnxruntime installed

    python -m tests.conformance.microsoft_cases     records them again, those of new cases among them
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

    def add(self, name, inputs, weights=(), outputs=1, tolerance=1e-4, **attributes):
        """`inputs` come first; None: absent. Names like Op.variant."""
        operands = [*inputs, *weights]
        names = ["" if data is None else f"{name}/{i}" for i, data in enumerate(operands)]
        results = [f"{name}/out{i}" for i in range(outputs)]
        node = helper.make_node(name.split(".")[0], names, results, name, domain=DOMAIN, **attributes)
        given = {n: np.asarray(data) for n, data in zip(names, operands) if data is not None}
        fed = {n: given[n] for n in names[: len(inputs)] if n}
        self.cases.append(Case(name, node, fed, {n: given[n] for n in given if n not in fed}, tolerance))


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


def collect():
    collector = Collector()
    experts(collector)
    return collector.cases


def to_model(cases):
    """The cases side by side; the first dim of each input has a name instead of a size."""
    inputs, weights, outputs = [], [], []
    for case in cases:
        for name, data in case.inputs.items():
            dims = [f"{name}.rows", *data.shape[1:]] if data.ndim > 1 and "/0" in name else list(data.shape)
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

    arrays = {}
    for case in collect():
        session = onnxruntime.InferenceSession(to_model([case]).SerializeToString(), providers=["CPUExecutionProvider"])
        for i, array in enumerate(session.run(None, case.inputs)):
            arrays[f"{case.name}/{i}"] = array
    np.savez_compressed(RECORDED, **arrays)


if __name__ == "__main__":
    record()
