"""A case: a model of one node, or a few, and what it is run on."""

import random
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
F32, F16, F64, I64, I32, I8, U8 = np.float32, np.float16, np.float64, np.int64, np.int32, np.int8, np.uint8


class Draw:
    """Random choices that depend on nothing but the seed."""

    def __init__(self, seed):
        self.choices = random.Random(seed)
        self.numbers = np.random.default_rng(self.choices.getrandbits(32))

    def one(self, *options):
        return self.choices.choice(options)

    def chance(self, probability):
        return self.choices.random() < probability

    def int(self, low, high):
        return self.choices.randint(low, high)

    def shape(self, rank=None, low=1, high=5):
        return [self.int(low, high) for _ in range(self.int(1, 4) if rank is None else rank)]

    def floats(self, *dims, dtype=F32, scale=1.0):
        return np.asarray(self.numbers.standard_normal(dims) * scale).astype(dtype)

    def positive(self, *dims, dtype=F32):
        return np.asarray(self.numbers.uniform(0.1, 2, dims)).astype(dtype)

    def ints(self, low, high, *dims, dtype=I64):
        return np.asarray(self.numbers.integers(low, high + 1, dims)).astype(dtype)

    def data(self, *dims, dtype=F32):
        """Of any type."""
        if dtype == np.bool_:
            return self.ints(0, 1, *dims, dtype=dtype)
        if np.issubdtype(dtype, np.floating):
            return self.floats(*dims, dtype=dtype)
        return self.ints(0 if np.issubdtype(dtype, np.unsignedinteger) else -6, 6, *dims, dtype=dtype)

    def some(self, attributes):
        """Those that a node writes; the others are left to their defaults. None: never written."""
        return {k: v for k, v in attributes.items() if v is not None and self.chance(0.7)}


@dataclass
class Case:
    opset: int
    nodes: list = field(default_factory=list)
    inputs: dict = field(default_factory=dict)  # what a run is given
    weights: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)
    tolerance: float = 1e-4  # relative to the largest number; integers may differ by `steps`
    steps: int = 0
    references: tuple = ("onnx", "ort")
    element: int = TensorProto.FLOAT  # of results that ONNX infers no type of
    elements: dict = field(default_factory=dict)  # of results that have others
    symbols: dict = field(default_factory=dict)  # size -> name
    name: str = ""

    def use_symbol(self, draw):
        """The model knows one of its inputs' sizes by name only."""
        sizes = sorted({size for data in self.inputs.values() for size in data.shape if size > 1})
        if sizes:
            self.symbols = {draw.one(*sizes): "n"}

    def surround(self, draw):
        """Permutations before floats that come in, and behind those that go out: products that change no number."""
        for name, data in list(self.inputs.items()):
            if data.dtype == F32 and data.ndim >= 2 and data.shape[-1] > 1 and data.shape[-1] not in self.symbols:
                size = data.shape[-1]
                order = draw.numbers.permutation(size)
                self.weights[f"{name}.order"] = np.eye(size, dtype=F32)[:, order]
                self.inputs[f"{name}.given"] = data[..., np.argsort(order)] @ np.eye(size, dtype=F32)
                self.nodes.insert(0, helper.make_node("MatMul", [f"{name}.given", f"{name}.order"], [name]))
                del self.inputs[name]

    def model(self):
        def dims(data):
            return [self.symbols.get(size, size) for size in data.shape]

        inputs = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(data.dtype), dims(data))
            for name, data in self.inputs.items()
        ]
        weights = [numpy_helper.from_array(np.asarray(data), name) for name, data in self.weights.items()]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "case", inputs, outputs, weights)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10 if self.opset < 24 else 11)
        try:
            inferred = {value.name: value for value in onnx.shape_inference.infer_shapes(model).graph.output}
        except onnx.shape_inference.InferenceError:
            inferred = {}
        for output in model.graph.output:
            known = inferred[output.name].type.tensor_type.elem_type if output.name in inferred else 0
            output.type.tensor_type.elem_type = known or self.elements.get(output.name, self.element)
        return model


def case(draw, op, *operands, opset=None, weights=(), results=1, domain="", unused=(), **more):
    """One node. Operands by number in `weights` are initializers; None is an absent one. Results whose numbers are in
    `unused` are named, but nobody uses them. Attributes are all of `more` but fields of Case."""
    fields = {k: more.pop(k) for k in ("tolerance", "steps", "references", "element") if k in more}
    made = Case(opset or draw.one(17, 18, 20, 21, 22), **fields)
    names = []
    for i, data in enumerate(operands):
        names.append("" if data is None else f"x{i}")
        if data is not None:
            (made.weights if i in weights else made.inputs)[f"x{i}"] = np.asarray(data)
    outputs = [f"y{i}" for i in range(results)]
    made.nodes = [helper.make_node(op, names, outputs, name=op, domain=domain, **more)]
    made.outputs = [name for i, name in enumerate(outputs) if i not in unused]
    return made
