"""A small ONNX graph that is spelled at random: constants, orders of operands, and what is left of a mutation."""

import random
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

OPSET = 24
F32, F16, F64, I64, I32, BOOL = np.float32, np.float16, np.float64, np.int64, np.int32, np.bool_


@dataclass
class Spelling:
    """
    One case. Values are named after the seed, so that many cases stand side by side in one model:

        g = Spelling(seed=5)
        x = g.input("x", g.floats(2, 3), ["b", 3])
        g.output(g.op("Mul", x, g.const(0.5)))

    `about` says what is meant to be odd in it; `tolerance` is relative to an output's largest value.
    """

    seed: int
    float_type: type = F32
    tolerance: float = 2e-4
    rng: random.Random = None
    numbers: np.random.Generator = None
    about: list = field(default_factory=list)
    nodes: list = field(default_factory=list)
    weights: list = field(default_factory=list)
    feeds: dict = field(default_factory=dict)
    dims: dict = field(default_factory=dict)
    outputs: list = field(default_factory=list)

    def __post_init__(self):
        self.rng = random.Random(self.seed)
        self.numbers = np.random.default_rng(self.seed)

    # Chance.

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, *choices):
        return self.rng.choice(choices)

    def odd(self, what, probability=0.04):
        """Whether this near miss is made; `what` is remembered for the report."""
        if not self.chance(probability):
            return False
        self.about.append(what)
        return True

    def near(self, value, what):
        """A constant, or one that is a little off."""
        return value * self.pick(1.03, 0.97, 1.005, -1) if self.odd(f"{what} is off") else value

    # Data.

    def floats(self, *dims, scale=1.0):
        return (self.numbers.integers(-16, 17, dims) / 8 * scale).astype(self.float_type)

    def bools(self, *dims, hidden=0.3):
        return self.numbers.random(dims) >= hidden

    def size(self, *choices):
        return self.rng.choice(choices)

    # Values.

    def name(self, hint):
        return f"s{self.seed}.{hint}{len(self.nodes) + len(self.weights) + len(self.feeds)}"

    def input(self, hint, data, dims=None):
        """`dims` may name symbols; those of a case are its own."""
        name = self.name(hint)
        self.feeds[name] = np.asarray(data)
        dims = list(data.shape) if dims is None else dims
        self.dims[name] = [f"s{self.seed}_{dim}" if isinstance(dim, str) else int(dim) for dim in dims]
        return name

    def tensor(self, hint, data):
        """An initializer."""
        name = self.name(hint)
        self.weights.append(numpy_helper.from_array(np.asarray(data), name))
        return name

    def const(self, value, dtype=None, rank=None):
        """A number, as a scalar or as a tensor of dims of 1."""
        dims = [1] * (self.pick(0, 0, 0, 1, 1, 2) if rank is None else self.rng.randint(0, rank))
        data = np.full(dims, value, dtype or self.float_type)
        if self.chance(0.5):
            return self.tensor("c", data)
        return self.op("Constant", value=numpy_helper.from_array(data))

    def ints(self, *values):
        return self.tensor("i", np.array(values, I64))

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [self.name(kind) + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def either(self, kind, a, b):
        """A commutative op."""
        return self.op(kind, a, b) if self.chance(0.5) else self.op(kind, b, a)

    def times(self, x, factor, what):
        factor = self.near(factor, what)
        if self.chance(0.4):
            return self.op("Div", x, self.const(1 / factor))
        return self.either("Mul", x, self.const(factor))

    def reshape(self, x, *dims):
        return self.op("Reshape", x, self.ints(*dims))

    def transpose(self, x, *perm):
        return self.op("Transpose", x, perm=list(perm))

    def slice(self, x, axis, start, end, step=1):
        return self.op("Slice", x, self.ints(start), self.ints(end), self.ints(axis), self.ints(step))

    def output(self, *values):
        self.outputs += [value for value in values if value not in self.outputs]

    def watch(self, value, probability=0.03):
        """An intermediate value that may be an output as well."""
        if value not in self.outputs and self.odd("an intermediate value is an output", probability):
            self.output(value)
        return value

    # The model.

    def model(self):
        return to_model([self])


def to_model(cases):
    """All of them, side by side."""
    graph = onnx.GraphProto(name="spellings")
    for case in cases:
        graph.node.extend(case.nodes)
        graph.initializer.extend(case.weights)
        for name, data in case.feeds.items():
            element = helper.np_dtype_to_tensor_dtype(data.dtype)
            graph.input.append(helper.make_tensor_value_info(name, element, case.dims[name]))
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in case.outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=11)
    inferred = {value.name: value for value in onnx.shape_inference.infer_shapes(model).graph.output}
    for output in model.graph.output:
        output.type.tensor_type.elem_type = inferred[output.name].type.tensor_type.elem_type
    return model
