"""Models to plan for: graphs by hand whose dims meet oddly, spellings of structures, and what exporters write."""

import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper, parser

from tests.e2e.caches import decoder, write_request
from tests.fuzz.spellings.check import spelling
from tests.support import LAYERS, ROOT, data_sets, model_file

CORPUS = ROOT.parent / "shared/corpus"
HEADER = '<ir_version: 10, opset_import: ["": 23]>\n'

# Each has inputs of floats; `n` is a size that no rank count need divide.
GRAPHS = {
    "residuals": """m (float[n, 12] x) => (float[n, 12] y) {
        u0 = MatMul(x, up0)
        r0 = Relu(u0)
        d0 = MatMul(r0, down0)
        s0 = Add(x, d0)
        u1 = MatMul(s0, up1)
        r1 = Relu(u1)
        d1 = MatMul(r1, down1)
        y = Add(s0, d1)
    }""",
    "heads": """m (float[b, n, 12] x) => (float[b, n, 12] y) {
        f = MatMul(x, qkv)
        q, k, v = Split<axis = 2, num_outputs = 3>(f)
        qs = Reshape(q, heads)
        ks = Reshape(k, heads)
        vs = Reshape(v, heads)
        qh = Transpose<perm = [0, 2, 1, 3]>(qs)
        kh = Transpose<perm = [0, 2, 3, 1]>(ks)
        vh = Transpose<perm = [0, 2, 1, 3]>(vs)
        s = MatMul(qh, kh)
        p = Softmax<axis = -1>(s)
        o = MatMul(p, vh)
        t = Transpose<perm = [0, 2, 1, 3]>(o)
        r = Reshape(t, merged)
        w = MatMul(r, out)
        y = Add(x, w)
    }""",
    "sides": """m (float[n, 12] x) => (float[n, 24] y, float[n] z, float[12, n] t) {
        a = MatMul(x, square)
        b = Tanh(a)
        c = Sub(a, b)
        j = Concat<axis = 1>(b, c)
        y = Mul(j, wide)
        m = ReduceMax<keepdims = 0>(j, last)
        e = ReduceSum<keepdims = 0>(c, last)
        z = Add(m, e)
        t = Transpose<perm = [1, 0]>(c)
    }""",
    "narrow": """m (float[n, 12] x) => (float[n, 12] y, float16[n] z, float[2, 12] l) {
        u = MatMul(x, up0)
        h = Cast<to = 10>(u)
        r = Relu(h)
        e = ReduceSum<keepdims = 0>(r, last)
        z = Neg(e)
        f = Cast<to = 1>(r)
        d = MatMul(f, down0)
        y = Add(x, d)
        g = Slice(y, first, third, zero)
        k = MatMul(g, square)
        a = Abs(k)
        l = Softmax<axis = -1>(a)
    }""",
    "lookup": """m (int64[b, n] x) => (float[b, n, 20] y) {
        e = Gather(words, x)
        h = LayerNormalization(e, scale)
        u = MatMul(h, up0)
        r = Sigmoid(u)
        g = Mul(u, r)
        d = MatMul(g, down0)
        s = Add(e, d)
        w = Transpose<perm = [1, 0]>(words)
        y = MatMul(s, w)
    }""",
}
WEIGHTS = {"up0": (12, 24), "up1": (12, 24), "down0": (24, 12), "down1": (24, 12), "qkv": (12, 36), "out": (12, 12)}
WEIGHTS |= {"square": (12, 12), "wide": (24,), "scale": (12,), "words": (20, 12)}
CONSTANTS = {"heads": [0, 0, 3, 4], "merged": [0, 0, 12], "last": [1], "first": [0], "third": [2], "zero": [0]}


@dataclass
class Model:
    name: str
    file: Path
    data: list  # folders or files for --inputs
    tolerance: float = 1e-5
    ranks: dict = field(default_factory=dict)  # dims of what a node gives, or of a weight, by its name


def by_hand(name, folder):
    model = parser.parse_model(HEADER + GRAPHS[name])
    rng = np.random.default_rng(7)
    used = {value for node in model.graph.node for value in node.input}
    weights = {key: rng.standard_normal(dims) / np.sqrt(dims[0]) for key, dims in WEIGHTS.items() if key in used}
    model.graph.initializer.extend(numpy_helper.from_array(w.astype(np.float32), key) for key, w in weights.items())
    constants = {key: np.array(values) for key, values in CONSTANTS.items() if key in used}
    model.graph.initializer.extend(numpy_helper.from_array(values, key) for key, values in constants.items())
    for node in model.graph.node:
        node.name = node.output[0]
    onnx.save(model, folder / "model.onnx")
    dims = [2, 7, 12] if name == "heads" else [7, 12]
    x = rng.integers(0, 20, (2, 7)) if name == "lookup" else rng.standard_normal(dims).astype(np.float32)
    np.savez(folder / "x.npz", x=x)
    return Model(name, folder / "model.onnx", [folder / "x.npz"], 2e-3 if name == "narrow" else 1e-5)


def cached(folder):
    model = decoder()
    onnx.save(model, folder / "model.onnx")
    rng = np.random.default_rng(3)
    data = [write_request(folder / f"data{n}", model, 0, rng.integers(0, 40, (2, n))) for n in (1, 6)]
    return Model("decoder", folder / "model.onnx", data)


def spelt(seed, folder):
    case = spelling(seed)
    onnx.save(case.model(), folder / "model.onnx")
    np.savez(folder / "inputs.npz", **case.feeds)
    return Model(f"spelling {seed}", folder / "model.onnx", [folder / "inputs.npz"], max(case.tolerance, 1e-5))


def exported(name):
    if name in LAYERS:
        return Model(name, model_file(name), data_sets(name))
    file = CORPUS / name / "model.onnx"
    return Model(name, file, sorted(file.parent.glob("test_data_set_*")), rounding(onnx.load(file, load_external_data=False).graph))


def rounding(graph):
    """What sums in another order may come to: of narrow floats, or of numbers that are rounded to integers on the way."""
    types = {weight.data_type for weight in graph.initializer}
    if TensorProto.BFLOAT16 in types or any("Quantize" in node.op_type for node in graph.node):
        return 5e-2
    return 2e-2 if TensorProto.FLOAT16 in types else 1e-5


def draw_model(draw, folder, corpus=False):
    """One of them; of the corpus, too, where it is asked for and there."""
    kind = draw.random()
    if corpus and CORPUS.is_dir():
        model = exported(draw.choice(sorted(file.parent.name for file in CORPUS.glob("*/model.onnx"))))
    elif kind < 0.4:
        model = by_hand(draw.choice(sorted(GRAPHS)), folder)
    elif kind < 0.5:
        model = cached(folder)
    elif kind < 0.7:
        model = spelt(draw.randrange(1000), folder)
    else:
        model = exported(draw.choice(sorted(LAYERS)))
    read_ranks(model)
    return model


def read_ranks(model):
    graph = onnx.load(model.file, load_external_data=False)
    known = {value.name: value for value in onnx.shape_inference.infer_shapes(graph).graph.value_info}
    model.ranks = {weight.name: len(weight.dims) for weight in graph.graph.initializer if len(weight.dims)}
    for node in graph.graph.node:
        value = known.get(node.output[0])
        if node.name and value is not None and value.type.tensor_type.HasField("shape"):
            model.ranks[node.name] = len(value.type.tensor_type.shape.dim)


def seeded(seed):
    return random.Random(f"plans {seed}")
