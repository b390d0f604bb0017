"""ONNX nodes to split: at least one for each op of the dialect, with inputs whose sums are exact.

A case is one node. Sizes come from outside (see Sizes); `a` may be a symbol, and is then used as a dim only.
"""

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.equivalence.recovered import recovered

OPSET = 26
MICROSOFT = "com.microsoft"
F32, F16, I64, I32, I8, U8, BOOL = np.float32, np.float16, np.int64, np.int32, np.int8, np.uint8, np.bool_


class Symbol(int):
    """A size that the model knows by name only."""


@dataclass
class Sizes:
    a: int
    b: int
    c: int
    d: int


@dataclass
class Tensor:
    data: np.ndarray
    dims: list = None  # None: an initializer


@dataclass
class Case:
    name: str
    nodes: list
    inputs: dict  # name -> Tensor
    outputs: list
    exact: bool  # does splitting a reduction give the same bits?
    reference: bool  # does onnx.reference compute it right?

    def model(self):
        return to_model([self])

    def feeds(self):
        return {name: tensor.data for name, tensor in self.inputs.items() if tensor.dims is not None}


def to_model(cases):
    """All of them, side by side."""
    nodes, inputs, initializers, outputs = [], [], [], []
    for case in cases:
        nodes += case.nodes
        outputs += [onnx.ValueInfoProto(name=name) for name in case.outputs]
        for name, tensor in case.inputs.items():
            if tensor.dims is None:
                initializers.append(numpy_helper.from_array(tensor.data, name))
                continue
            dims = ["a" if isinstance(dim, Symbol) else int(dim) for dim in tensor.dims]
            element = helper.np_dtype_to_tensor_dtype(tensor.data.dtype)
            inputs.append(helper.make_tensor_value_info(name, element, dims))
    graph = helper.make_graph(nodes, "cases", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=13)
    # The checker wants types of outputs; element types are enough for it.
    inferred = {value.name: value for value in onnx.shape_inference.infer_shapes(model).graph.output}
    for output in model.graph.output:
        element = inferred[output.name].type.tensor_type.elem_type
        output.type.tensor_type.elem_type = element or TensorProto.FLOAT
    return model


@dataclass
class Cases:
    sizes: Sizes
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(3))
    all: list = field(default_factory=list)

    # Inputs.

    def ints(self, *dims, low=-4, high=4, dtype=F32):
        return Tensor(self.rng.integers(low, high + 1, dims).astype(dtype), dims)

    def positive(self, *dims, dtype=F32):
        return self.ints(*dims, low=1, dtype=dtype)

    def eighths(self, *dims):
        return Tensor(self.rng.integers(-32, 33, dims).astype(F32) / F32(8), dims)

    def fractions(self, *dims):
        """Between -1 and 1."""
        return Tensor(self.rng.integers(-7, 8, dims).astype(F32) / F32(8), dims)

    def bools(self, *dims):
        return self.ints(*dims, low=0, high=1, dtype=BOOL)

    def distinct(self, *dims):
        size = int(np.prod(dims))
        return Tensor(self.rng.permutation(size).astype(F32).reshape(dims), dims)

    def rows(self, size, *dims, low=None):
        return self.ints(*dims, low=-size if low is None else low, high=size - 1, dtype=I64)

    @staticmethod
    def const(value, dtype=I64):
        return Tensor(np.array(value, dtype))

    def weight(self, *dims):
        """The same whatever the inputs are."""
        return Tensor(np.random.default_rng(dims).integers(-4, 5, dims).astype(F32))

    # Nodes.

    def add(self, name, *inputs, outputs=1, exact=True, reference=True, before=None, domain="", **attributes):
        """`name` is OP or OP.variant; `before`: the reduction of dim 0 in front of some inputs, by their numbers."""
        op = name.split(".")[0]
        named, nodes, names = {}, [], []
        for i, tensor in enumerate(inputs):
            names.append("" if tensor is None else f"{name}.{i}")
            if tensor is not None:
                named[names[-1]] = tensor
        for i, kind in (before or {}).items():
            ins, out = [names[i], f"{name}.{i}.axes"], f"{name}.{i}.part"
            named[ins[1]] = self.const([0])
            nodes.append(helper.make_node(kind, ins, [out], name=f"part.{name}.{i}", keepdims=0))
            names[i] = out
        results = [f"{name}.out{i}" for i in range(outputs)]
        nodes.append(helper.make_node(op, names, results, name=name, domain=domain, **attributes))
        self.all.append(Case(name, nodes, named, results, exact, reference))

    def chain(self, name, *inputs, nodes, exact=True):
        """Nodes (op, inputs by number or by earlier output, outputs, attributes); the case's output is `out`."""
        named = {f"{name}.{i}": tensor for i, tensor in enumerate(inputs)}

        def node(op, ins, outs, attributes):
            outs = [outs] if isinstance(outs, str) else outs
            ins = ["" if i == "" else f"{name}.{i}" for i in ins]
            return helper.make_node(op, ins, [f"{name}.{out}" for out in outs], name=f"{name}.{outs[0]}", **attributes)

        made = [node(*entry) for entry in nodes]
        self.all.append(Case(name, made, named, [f"{name}.out"], exact, True))


def elementwise(g, s):
    for op in ["Celu", "Selu", "ThresholdedRelu"]:
        g.add(op, g.eighths(s.a, s.b))
    for op in ["Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "Mish", "HardSwish", "Gelu", "LeakyRelu", "Elu"]:
        g.add(op, g.eighths(s.a, s.b, s.c))
    for op in ["HardSigmoid", "Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "Neg", "Round", "Sign", "Sin"]:
        g.add(op, g.eighths(s.a, s.b, s.c))
    g.add("Gelu.tanh", g.eighths(s.b, s.c), approximate="tanh")
    for op in ["Reciprocal", "Sqrt", "Log", "Acosh"]:
        g.add(op, g.positive(s.a, s.b, s.c))
    for op in ["Acos", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan"]:
        g.add(op, g.fractions(s.a, s.b, s.c))
    infinite = g.ints(s.b, s.c)
    infinite.data[infinite.data > 2] = np.inf
    g.add("IsInf", infinite, detect_negative=0)
    g.add("IsNaN", infinite)
    g.add("Not", g.bools(s.a, s.b))
    g.add("Clip", g.ints(s.a, s.b, s.c), g.const(-1, F32), g.const(2, F32))
    g.add("Clip.upper", g.ints(s.b, s.c), None, g.const(2, F32))
    g.add("Clip.input", g.ints(s.a, s.b), g.ints(), None)
    for op in ["Add", "Sub", "Mul"]:
        g.add(op, g.ints(s.a, s.b, s.c), g.ints(s.a, s.b, s.c))
        g.add(op + ".row", g.ints(s.a, s.b, s.c), g.ints(s.c))
        g.add(op + ".both", g.ints(s.a, 1, s.c), g.ints(s.b, 1))
        g.add(op + ".i64", g.ints(s.a, s.b, dtype=I64), g.ints(dtype=I64))
    g.add("Add.f16", g.ints(s.a, s.b, dtype=F16), g.ints(s.b, dtype=F16))
    g.add("Div", g.ints(s.a, s.b, s.c), g.positive(s.b, 1))
    g.add("Div.i64", g.positive(s.a, s.b, dtype=I64), g.positive(s.b, dtype=I64))
    g.add("Pow", g.positive(s.a, s.b, s.c), g.ints(s.b, 1, low=0))
    g.add("PRelu", g.ints(s.a, s.b, s.c), g.ints(s.b, 1))
    g.add("Mod", g.ints(s.a, s.b, dtype=I64), g.positive(s.b, dtype=I64))
    g.add("Mod.fmod", g.ints(s.a, s.b), g.positive(s.b), fmod=1)
    for op in ["Min", "Max", "Sum"]:
        g.add(op, g.ints(s.a, s.b, s.c), g.ints(s.a, s.b, s.c))
        g.add(op + ".three", g.ints(s.a, s.b, s.c), g.ints(s.b, 1), g.ints(s.c))
    for op in ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]:
        g.add(op, g.ints(s.a, s.b, s.c), g.ints(s.a, 1, s.c))
    for op in ["And", "Or", "Xor"]:
        g.add(op, g.bools(s.a, s.b, s.c), g.bools(s.b, 1))
    g.add("Where", g.bools(s.a, s.b, s.c), g.ints(s.a, s.b, s.c), g.ints(s.a, s.b, s.c))
    g.add("Where.broadcast", g.bools(s.a, 1, s.c), g.ints(s.b, 1), g.ints())
    g.add("Cast.i64", g.ints(s.a, s.b, s.c), to=TensorProto.INT64)
    g.add("Cast.bool", g.ints(s.a, s.b, dtype=I64), to=TensorProto.BOOL)
    g.add("Cast.f16", g.eighths(s.a, s.b), to=TensorProto.FLOAT16)
    g.add("Cast.f32", g.ints(s.a, s.b, dtype=I32), to=TensorProto.FLOAT)


def bits(g, s):
    for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
        g.add(op, g.ints(s.a, s.b, s.c, dtype=I32), g.ints(s.b, 1, dtype=I32))
    g.add("BitwiseNot", g.ints(s.a, s.b, dtype=I64))
    g.add("BitShift", g.positive(s.a, s.b, dtype=np.uint8), g.positive(s.b, dtype=np.uint8), direction="LEFT")
    g.add("BitCast", g.ints(s.a, s.b), to=TensorProto.INT32)


def recurrent(g, s):
    """Of a constant length, and of one that may be a symbol."""
    functions = {"activations": ["HardSigmoid", "Relu", "Softsign"], "hidden_size": s.c}
    for name, steps, more in (("LSTM.activations", 3, functions), ("LSTM.any_length", s.a, {"hidden_size": s.c, "direction": "reverse"})):
        weights = [g.weight(1, 4 * s.c, s.d), g.weight(1, 4 * s.c, s.c)]
        g.add(name, g.eighths(steps, s.b, s.d), *weights, outputs=3, exact=False, reference=False, **more)
    g.add("GRU.any_length", g.eighths(s.a, s.b, s.d), g.weight(1, 3 * s.c, s.d), g.weight(1, 3 * s.c, s.c), outputs=2, exact=False,
          reference=False, hidden_size=s.c)  # fmt: skip


def images(g, s):
    g.add("Pad", g.ints(s.a, s.b, s.c), g.const([0, 1, 0, 0, 2, 0]), g.const(3, F32))
    g.add("Pad.reflect", g.ints(s.a, s.b, 4), g.const([2, 1]), None, g.const([2]), mode="reflect")
    g.add("Pad.crop", g.ints(s.a, s.b + 2, s.c), g.const([-1, -1]), None, g.const([1]), reference=False)
    g.add("MaxPool", g.ints(s.a, s.b, 5, 6), kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 1])
    # ONNX counts places in the whole input, its reference in one image.
    g.add("MaxPool.places", g.distinct(2, 3, 5, 4), outputs=2, reference=False, kernel_shape=[2, 2])
    g.add("AveragePool", g.ints(s.a, s.b, 7), kernel_shape=[3], strides=[2], ceil_mode=1)
    g.add("LpPool", g.ints(s.a, s.b, 4, 4), kernel_shape=[2, 2], p=1)
    g.add("GridSample", g.ints(s.a, s.b, 4, 5), g.fractions(s.a, s.c, 3, 2))
    g.add("GridSample.nearest", g.ints(2, s.b, 6), g.fractions(2, s.c, 1), mode="nearest", padding_mode="border")


def contraction(g, s):
    g.add("MatMul", g.ints(s.a, s.b), g.ints(s.b, s.c))
    g.add("MatMul.linear", g.ints(s.a, s.b, s.c), g.weight(s.c, s.d))
    g.add("MatMul.batch", g.ints(s.a, s.b, s.c), g.ints(s.a, s.c, s.d))
    g.add("MatMul.broadcast", g.ints(s.a, 1, s.b, s.c), g.ints(s.d, s.c, s.b))
    g.add("MatMul.contracts", g.ints(s.b, s.a), g.ints(s.a, s.c))
    g.add("MatMul.left", g.ints(s.c), g.ints(s.a, s.c, s.d))
    g.add("MatMul.right", g.ints(s.a, s.b, s.c), g.ints(s.c))
    g.add("MatMul.inner", g.ints(s.c), g.ints(s.c))
    g.add("Gemm", g.ints(s.a, s.b), g.ints(s.b, s.c))
    g.add("Gemm.row", g.ints(s.a, s.b), g.weight(s.b, s.c), g.weight(s.c))
    g.add("Gemm.transposed", g.ints(s.b, s.a), g.ints(s.c, s.b), g.ints(s.a, s.c), transA=1, transB=1)
    g.add("Gemm.scaled", g.ints(s.a, s.b), g.ints(s.c, s.b), g.ints(1, s.c), transB=1, alpha=2.0, beta=0.5)
    g.add("Gemm.column", g.ints(s.a, s.b), g.ints(s.b, s.c), g.ints(s.a, 1))
    g.add("Gemm.scalar", g.ints(s.a, s.b), g.ints(s.b, s.c), g.ints())
    g.add("Conv", g.ints(s.a, s.c, 5, 6), g.weight(s.d, s.c, 3, 2))
    g.add("Conv.bias", g.ints(s.a, s.c, 6), g.ints(s.b, s.c, 3), g.ints(s.b), pads=[1, 1], strides=[2])
    g.add("Conv.same", g.ints(2, s.c, 5, 5), g.ints(s.b, s.c, 3, 3), auto_pad="SAME_UPPER", dilations=[1, 1])
    g.add("Conv.group", g.ints(s.a, 2 * s.c, 5), g.ints(2 * s.b, s.c, 2), g.ints(2 * s.b), group=2)


def attention(g, s):
    heads, size = 2 * s.b, 4

    def qkv(queries=s.c, kv=s.b, keys=s.d):
        return [
            g.eighths(s.a, heads, queries, size),
            g.eighths(s.a, kv, keys, size),
            g.eighths(s.a, kv, keys, s.c),
        ]

    g.add("Attention", *qkv(kv=heads), exact=False)
    g.add("Attention.grouped", *qkv(), exact=False)
    g.add("Attention.causal", *qkv(s.d), is_causal=1, exact=False)
    g.add("Attention.mask", *qkv(), g.eighths(s.c, s.d), exact=False)
    mask = g.bools(s.a, 1, s.c, s.d)
    mask.data[..., 0] = True
    g.add("Attention.bools", *qkv(), mask, exact=False)
    g.add("Attention.heads", *qkv(), g.eighths(heads, 1, s.d), scale=0.5, softcap=2.0, exact=False)
    flat = [g.eighths(s.a, s.c, heads * 2), g.eighths(s.a, s.d, s.b * 2), g.eighths(s.a, s.d, s.b * 2)]
    g.add("Attention.flat", *flat, q_num_heads=heads, kv_num_heads=s.b, exact=False)
    past = [g.eighths(s.a, s.b, s.c, size), g.eighths(s.a, s.b, s.c, s.c)]
    g.add("Attention.past", *qkv(), None, *past, outputs=3, is_causal=1, exact=False)

    def caches(*dims):
        return [g.ints(*dims), g.ints(*dims)]

    g.add("RotaryEmbedding", g.ints(s.a, s.b, s.c, 4), *caches(s.a, s.c, 2))
    g.add("RotaryEmbedding.flat", g.ints(s.a, s.c, s.b * 4), *caches(9, 2), g.rows(9, s.a, s.c, low=0), num_heads=s.b)
    g.add("RotaryEmbedding.part", g.ints(s.a, s.b, s.c, 6), *caches(s.a, s.c, 2), rotary_embedding_dim=4)
    g.add("RotaryEmbedding.pairs", g.ints(s.a, s.b, s.c, 4), *caches(s.a, s.c, 2), interleaved=1)


def indexing(g, s):
    g.add("Gather", g.weight(s.b, s.c), g.rows(s.b, s.a, s.d))
    g.add("Gather.rows", g.ints(s.a, s.b, s.c), g.rows(s.b, s.d), axis=1)
    g.add("Gather.one", g.ints(s.a, s.b, s.c), g.rows(s.b), axis=1)
    g.add("Gather.table", g.ints(s.d, s.b, s.c), g.rows(s.d))
    g.add("Gather.i64", g.ints(s.b, s.c, dtype=I64), g.rows(s.b, s.a))
    g.add("Gather.vector", g.ints(s.b), g.rows(s.b, s.a))
    g.add("Gather.bools", g.bools(s.b, s.c), g.rows(s.b, s.a))
    g.add("GatherElements", g.ints(s.a, s.b, s.c), g.rows(s.b, s.a, s.d, s.c), axis=1)
    g.add("GatherElements.first", g.ints(s.b, s.c), g.rows(s.b, s.d, s.c))
    pairs = np.stack([g.rows(s.b, s.a).data, g.rows(s.c, s.a).data], -1)
    g.add("GatherND", g.ints(s.b, s.c, s.d), Tensor(pairs, (s.a, 2)))
    g.add("GatherND.batch", g.ints(s.a, s.b, s.c), g.rows(s.b, s.a, s.d, 1), batch_dims=1)
    chosen = np.broadcast_to(g.rng.permutation(s.b)[:2, None], (s.a, 2, s.c)).astype(I64)
    g.add("ScatterElements", g.ints(s.a, s.b, s.c), Tensor(chosen, (s.a, 2, s.c)), g.ints(s.a, 2, s.c), axis=1)
    g.add(
        "ScatterElements.add",
        g.ints(s.a, s.b, s.c),
        g.rows(s.b, s.a, s.d, s.c),
        g.ints(s.a, s.d, s.c),
        axis=1,
        reduction="add",
    )
    chosen = g.rng.permutation(s.b)[:2, None].astype(I64)
    g.add("ScatterND", g.ints(s.b, s.c, s.d), Tensor(chosen, (2, 1)), g.ints(2, s.c, s.d))
    g.add("ScatterND.add", g.ints(s.b, s.c), g.rows(s.b, s.a, 1, low=0), g.ints(s.a, s.c), reduction="add")
    g.add("TopK", g.distinct(s.a, s.b, s.c), g.const([2]), outputs=2)
    g.add("TopK.smallest", g.distinct(s.b, s.c, s.d), g.const([1]), outputs=2, axis=1, largest=0)
    g.add("Trilu", g.ints(s.a, s.b, s.c))
    g.add("Trilu.lower", g.ints(s.a, s.b, s.c), g.const(1), upper=0)


def quantized_experts(g, s):
    """Two of three experts, whose blocks may end within a rank's part."""
    random = np.random.default_rng(3)
    for bits in (4, 8):
        size, wide, block = s.b * 8, s.c * 8, 16
        operands = []
        for out, inputs in ((2 * wide, size), (size, wide)):
            packed = random.integers(0, 256, (3, out, inputs * bits // 8)).astype(U8)
            scales = random.choice([0.25, 0.5], (3, out, -(-inputs // block))).astype(F32) / F32(4**bits)
            operands += [Tensor(packed), Tensor(scales), g.weight(3, out)]
        g.add(
            f"QMoE.{bits}", g.ints(s.a, size), g.eighths(s.a, 3), *operands, reference=False, exact=False,
            domain=MICROSOFT, expert_weight_bits=bits, block_size=block, k=2, activation_type="swiglu",
            swiglu_fusion=1, normalize_routing_weights=1,
        )  # fmt: skip


def quantized(g, s):
    def byte(*dims, dtype=I8):
        return g.ints(*dims, low=0 if dtype == U8 else -100, high=100, dtype=dtype)

    halves = lambda *dims: Tensor(g.rng.choice([0.25, 0.5, 2.0], dims).astype(F32), dims)
    g.add("DequantizeLinear", byte(s.a, s.b, s.c), halves(), byte())
    g.add("DequantizeLinear.columns", byte(s.b, s.c, dtype=U8), halves(s.c), byte(s.c, dtype=U8))
    # Blocks that a factor's parts may cut, and a last one that is shorter.
    blocks = -(-s.b * s.c // 3)
    g.add("DequantizeLinear.blocks", byte(s.b * s.c, s.d), halves(blocks, s.d), byte(blocks, s.d), axis=0, block_size=3)
    whole = [byte(4 * s.b, s.d), halves(s.b, s.d), byte(s.b, s.d)]
    g.add("DequantizeLinear.whole", *whole, axis=0, block_size=4)
    g.add("DequantizeLinear.rows", byte(s.d, s.b * s.c), halves(s.d, blocks), axis=-1, block_size=3)
    # Products that take weights as they are, of 2, 4 and 8 bits.
    for bits in (2, 4, 8):
        size = 16
        packed = np.random.default_rng(bits).integers(0, 256, (s.c, -(-s.b * 8 // size), size * bits // 8)).astype(U8)
        scales = np.random.default_rng(9).choice([0.25, 0.5], packed.shape[:2]).astype(F32)
        g.add(
            f"MatMulNBits.{bits}", g.ints(s.a, s.b * 8), Tensor(packed), Tensor(scales), reference=False,
            domain=MICROSOFT, K=s.b * 8, N=s.c, bits=bits, block_size=size,
        )  # fmt: skip
    quantized_experts(g, s)
    g.add("QuantizeLinear", g.eighths(s.a, s.b, s.c), halves(), byte())
    g.add("QuantizeLinear.rows", g.eighths(s.a, s.b, s.c), halves(s.b), byte(s.b, dtype=U8))
    g.add("QuantizeLinear.blocks", g.eighths(s.b * s.c, s.d), halves(blocks, s.d), axis=0, block_size=3)
    g.add("DynamicQuantizeLinear", g.eighths(s.b, s.c), outputs=3)
    g.add("MatMulInteger", byte(s.a, s.b, s.c, dtype=U8), byte(s.c, s.d), byte(dtype=U8), byte(s.d))
    rows = [byte(s.b, s.c), byte(s.c, s.d), byte(s.b)]
    g.add("MatMulInteger.rows", *rows, reference=False)  # which broadcasts [m] along k
    g.add("MatMulInteger.vector", byte(s.c, dtype=U8), byte(s.c, s.d))
    g.add("MatMulInteger.batch", byte(s.b, s.a, s.c), byte(s.b, s.c, s.d, dtype=U8))


def caches(g, s):
    """CacheAppend is no operator of ONNX: attention with caches becomes it."""
    size, held = 4, 3
    new = [g.eighths(s.a, 2, heads * size) for heads in (2 * s.c, s.c, s.c)]
    past = [g.eighths(s.a, s.c, held, size) for _ in range(2)]
    last = g.ints(s.a, low=0, high=held + 1, dtype=I32)
    heads = {"num_heads": 2 * s.c, "kv_num_heads": s.c}
    g.add("GroupQueryAttention", *new, *past, last, outputs=3, exact=False, reference=False, domain=MICROSOFT, **heads)


def layout(g, s):
    g.add("Reshape.merge", g.ints(s.a, s.b, s.c), g.const([-1, s.c]))
    g.add("Reshape.flat", g.ints(s.a, s.b, s.c), g.const([0, s.b * s.c]))
    g.add("Reshape.split", g.ints(s.a, s.b * s.c), g.const([0, s.b, s.c]))
    g.add("Reshape.part", g.ints(s.a, s.b, 2 * s.c), g.const([0, s.b * 2, s.c]))
    g.add("Reshape.heads", g.ints(s.a, s.d, s.b * s.c), g.const([-1, s.b, s.c]))
    g.add("Reshape.odd", g.ints(s.a, 4, 6), g.const([0, 6, 4]))
    g.add("Reshape.one", g.ints(s.a, 1, s.c), g.const([0, s.c, 1, 1]))
    g.add("Expand", g.ints(s.a, 1, s.c), g.const([1, s.b, 1]))
    g.add("Expand.new", g.ints(s.c), g.const([s.b, s.d, 1]))
    g.add("Tile", g.ints(s.a, s.b, s.c), g.const([1, 3, 1]))
    g.add("Tile.first", g.ints(s.a, s.b), g.const([2, s.c]))
    g.add("Transpose", g.ints(s.a, s.b, s.c), perm=[2, 0, 1])
    g.add("Transpose.all", g.ints(s.a, s.b))
    g.add("Concat", g.ints(s.a, s.b, s.c), g.ints(s.a, s.d, s.c), axis=1)
    g.add("Concat.three", g.ints(s.a, s.b), g.ints(1, s.b), g.ints(s.c, s.b), axis=0)
    g.add("Concat.last", g.ints(s.b, s.c), g.ints(s.b, s.c), axis=-1)
    g.add("Split", g.ints(s.a, s.b + s.c + s.d), g.const([s.b, s.c, s.d]), outputs=3, axis=1)
    g.add("Split.even", g.ints(3 * s.b, s.a), outputs=3, num_outputs=3)
    g.add("Split.rest", g.ints(2 * s.b + 1, s.c), outputs=2, num_outputs=2)
    bounds = [g.const(x) for x in ([1, s.b], [1 + s.b, 2 * s.b], [1, 2])]
    g.add("Slice", g.ints(s.a, s.b + 2, 2 * s.b + s.c), *bounds)
    g.add("Slice.front", g.ints(s.a, 2 * s.b), g.const([0]), g.const([s.b]), g.const([1]))
    g.add("Slice.last", g.ints(s.a, s.b, s.c), g.const([-1]), g.const([2**40]), g.const([1]))
    g.add("Slice.short", g.ints(s.b, s.a), g.const([-5]), g.const([2**40]), g.const([1]))
    g.add("Slice.behind", g.ints(s.a, s.b), g.const([3]), g.const([-2]), g.const([0]))
    g.add("Slice.step", g.ints(s.a, 2 * s.b, s.c), g.const([1]), g.const([2**40]), g.const([1]), g.const([2]))
    g.add("Slice.back", g.ints(s.b, s.c), g.const([-1]), g.const([-(2**40)]), g.const([0]), g.const([-1]))
    parts = [("SplitToSequence", [0, 1], "s", {"axis": 1}), ("SequenceAt", ["s", 2], "last", {})]
    parts += [("SequenceInsert", ["s", "last", 3], "t", {}), ("ConcatFromSequence", ["t"], "out", {"axis": 1})]
    sizes = [g.const([s.b, s.c]), g.const(-1), g.const(0)]
    g.chain("SplitToSequence", g.ints(s.a, s.b + s.c), *sizes, nodes=parts)
    g.add("Squeeze", g.ints(s.a, 1, s.c), g.const([1]))
    g.add("Unsqueeze", g.ints(s.a, s.c), g.const([1]))
    g.add("Flatten", g.ints(s.a, s.b, s.c), axis=1)
    g.add("Identity", g.ints(s.a, s.b))
    g.add("Dropout", g.ints(s.a, s.b))


def normalization(g, s):
    for op in ["Softmax", "LogSoftmax"]:
        g.add(op, g.eighths(s.a, s.b, s.c))
        g.add(op + ".middle", g.eighths(s.a, s.b, s.c), axis=1)
    norms = [g.eighths(s.a, s.b, s.c), g.eighths(s.c), g.eighths(s.c)]
    g.add("LayerNormalization", *norms)
    g.add("LayerNormalization.plain", g.eighths(s.a, s.b, s.c), g.eighths(s.b, s.c), axis=1)
    g.add("LayerNormalization.statistics", *norms, outputs=3)
    g.add("RMSNormalization", g.eighths(s.a, s.b, s.c), g.eighths(s.c))
    g.add("RMSNormalization.two", g.eighths(s.a, s.b, s.c), g.eighths(s.b, s.c), axis=1, epsilon=0.5)


def reduction(g, s):
    for op in ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSumExp"]:
        exact = op in ["Sum", "Max", "Min", "L1", "SumSquare"]
        kind = g.eighths if op == "LogSumExp" else g.ints
        g.add(f"Reduce{op}", kind(s.a, s.b, s.c), g.const([1]), exact=exact)
        g.add(f"Reduce{op}.two", kind(s.b, s.a, s.c), g.const([0, 2]), keepdims=0, exact=exact)
        g.add(f"Reduce{op}.all", kind(2, s.b), exact=exact)
    g.add("ReduceSum.first", g.ints(s.a, s.b), g.const([0]))
    g.add("ReduceSum.none", g.ints(s.a, s.b), noop_with_empty_axes=1)
    for op in ["ReduceSum", "ReduceMax", "ReduceMin"]:
        g.add(op + ".i64", g.ints(s.b, s.c, dtype=I64), g.const([1]))
        g.add(op + ".i32", g.ints(s.b, s.c, dtype=I32), g.const([0]))
        g.add(op + ".f16", g.ints(s.b, s.c, dtype=F16), g.const([0]))
    g.add("ReduceMax.u8", g.positive(s.b, s.c, dtype=np.uint8), g.const([0]))
    g.add("ReduceMin.u8", g.positive(s.b, s.c, dtype=np.uint8), g.const([0]))
    g.add("ReduceMax.bool", g.bools(s.b, s.c), g.const([0]))
    g.add("ReduceMin.bool", g.bools(s.b, s.c), g.const([0]))
    g.add("ReduceMean.i64", g.ints(s.b, s.c, dtype=I64), g.const([1]), reference=False)
    for op in ["ArgMax", "ArgMin"]:
        g.add(op, g.ints(s.a, s.b, s.c), axis=1)
        g.add(op + ".last", g.ints(s.a, s.b, s.c), axis=-1, keepdims=0, select_last_index=1)
    g.add("CumSum", g.ints(s.a, s.b, s.c), g.const(1))
    g.add("CumProd", g.ints(s.a, s.b, s.c), g.const(1))
    g.add("CumSum.back", g.ints(s.a, s.b, s.c), g.const(-1), exclusive=1, reverse=1)


def source(g, s):
    """Values that come from the model or from sizes alone; with static sizes these are constants."""

    g.chain("Weight", g.weight(s.b, s.c), g.ints(s.b, s.c), nodes=[("Add", [0, 1], "out", {})])
    small = numpy_helper.from_array(np.arange(1, 4, dtype=F32))
    g.chain(
        "Constant",
        g.ints(s.a, 3),
        nodes=[("Constant", [], "value", {"value": small}), ("Add", [0, "value"], "out", {})],
    )
    g.chain(
        "Symbols",
        g.ints(s.a, s.b),
        g.ints(2, dtype=I64),
        nodes=[("Shape", [0], "shape", {}), ("Add", ["shape", 1], "out", {})],
    )
    g.chain(
        "Range",
        g.ints(s.a, s.b, dtype=I64),
        g.const(0),
        g.const(2),
        g.const([1]),
        nodes=[
            ("Shape", [0], "shape", {}),
            ("Gather", ["shape", 1], "size", {}),
            ("Mul", ["size", 2], "end", {}),
            ("Range", [1, "end", 2], "row", {}),
            ("Unsqueeze", ["row", 3], "column", {}),
            ("Add", ["column", 0], "out", {}),
        ],
    )


def dynamic(g, s):
    g.add("NonZero", g.bools(s.a, s.b))
    g.add("NonZero.numbers", g.ints(s.b, s.c, s.d, low=-1, high=1))
    g.add("NonZero.none", g.ints(s.b, low=0, high=0, dtype=I64))
    g.add("Compress", g.ints(s.a, s.b, s.c), g.bools(s.b), axis=1)
    g.add("Compress.flat", g.ints(s.b, s.c), g.bools(s.b * s.c))
    g.add("OneHot", g.rows(s.c, s.a, s.b), g.const(s.c), g.const([0, 1], F32))
    g.add("OneHot.first", g.rows(s.b, s.a, s.c, low=-9), g.const(s.b), g.const([-2, 5], F32), axis=0)
    size = g.ints(1, low=3, high=3, dtype=I64)
    g.add("ReadSizes", g.ints(s.a, s.b), size)
    case = g.all[-1]
    case.nodes[:] = [
        helper.make_node("Concat", ["ReadSizes.1", "minus"], ["shape"], name="shape", axis=0),
        helper.make_node("Tile", ["ReadSizes.0", "shape"], ["ReadSizes.out0"], name="ReadSizes"),
    ]
    case.inputs["minus"] = g.const([2])


def partial_cases(sizes):
    """Ops behind reductions whose results are partial; `refused` ones must get them whole."""
    g, s = Cases(sizes), sizes
    total, largest, least = "ReduceSum", "ReduceMax", "ReduceMin"

    def parts(*dims, dtype=F32):
        return g.ints(s.d, *dims, low=-2, high=2, dtype=dtype)

    def add(name, *inputs, **options):
        g.add(name, *inputs, **options)

    for op in ["Add", "Sub"]:
        add(op, parts(s.a, s.b), parts(s.b), before={0: total, 1: total})
        add(op + ".refused", parts(s.a, s.b), g.ints(s.b), before={0: total})
        add(op + ".refused.max", parts(s.a, s.b), parts(s.b), before={0: largest, 1: largest})
    for i, other in enumerate(["left", "right"]):
        add(f"Mul.{other}", *[parts(s.a, s.b), g.ints(s.a, s.b)][:: 1 - 2 * i], before={i: total})
        add(f"MatMul.{other}", *[parts(s.b, s.b), g.ints(s.b, s.b)][:: 1 - 2 * i], before={i: total})
        add(f"Gemm.{other}", *[parts(s.b, s.b), g.ints(s.b, s.b)][:: 1 - 2 * i], before={i: total}, alpha=2.0)
    for op in ["Mul", "MatMul", "Gemm"]:
        add(f"{op}.refused", parts(s.b, s.b), parts(s.b, s.b), before={0: total, 1: total})
        add(f"{op}.refused.min", parts(s.b, s.b), g.ints(s.b, s.b), before={0: least})
    add("Gemm.addend", parts(s.a, s.b), g.ints(s.b, s.c), parts(s.c), before={0: total, 2: total}, beta=2.0)
    add("Gemm.refused.addend", parts(s.a, s.b), g.ints(s.b, s.c), g.ints(s.c), before={0: total})
    add("Gemm.refused.alone", g.ints(s.a, s.b), g.ints(s.b, s.c), parts(s.c), before={2: total})
    add("Conv", parts(2, s.c, 5), g.ints(s.b, s.c, 2), before={0: total})
    add("Conv.bias", g.ints(2, s.c, 5), parts(s.b, s.c, 2), parts(s.b), before={1: total, 2: total}, pads=[1, 0])
    add("Conv.refused", parts(2, s.c, 5), g.ints(s.b, s.c, 2), g.ints(s.b), before={0: total})
    add("Div", parts(s.a, s.b), g.const(4, F32), before={0: total})
    add("Div.refused", g.ints(s.a, s.b), g.positive(s.d, s.b), before={1: total})
    add("Div.refused.i64", parts(s.a, s.b, dtype=I64), g.positive(s.b, dtype=I64), before={0: total}, reference=False)
    add("Neg", parts(s.a, s.b), before={0: total})
    add("Neg.refused", parts(s.a, s.b), before={0: largest})
    add("Relu.refused", parts(s.a, s.b), before={0: total})
    add("Softmax.refused", parts(s.a, s.b), before={0: total})
    add("Cast", parts(s.a, s.b, dtype=F16), before={0: total}, to=TensorProto.FLOAT)
    add("Cast.i64", parts(s.a, s.b, dtype=I32), before={0: total}, to=TensorProto.INT64)
    add("Cast.refused", parts(s.a, s.b), before={0: total}, to=TensorProto.FLOAT16)
    add("Cast.refused.i64", parts(s.a, s.b), before={0: total}, to=TensorProto.INT64)
    for kind in [total, largest, least]:
        name = "." + kind
        add("Where" + name, g.bools(s.a, s.b), parts(s.a, s.b), parts(s.b), before={1: kind, 2: kind})
        add("Transpose" + name, parts(s.a, s.b, s.c), before={0: kind}, perm=[2, 0, 1])
        add("Reshape" + name, parts(s.a, s.b, s.c), g.const([0, -1]), before={0: kind})
        add("Expand" + name, parts(s.a, 1), g.const([1, s.b]), before={0: kind})
        add("Tile" + name, parts(s.a, s.b), g.const([1, 3]), before={0: kind})
        add("Concat" + name, parts(s.a, s.b), parts(s.c, s.b), before={0: kind, 1: kind}, axis=0)
        add("Split" + name, parts(s.a, s.b + s.c), g.const([s.b, s.c]), before={0: kind}, outputs=2, axis=1)
        add("Slice" + name, parts(s.a, 2 * s.b), g.const([1]), g.const([s.b]), g.const([1]), before={0: kind})
        add("Gather" + name, parts(s.b, s.c), g.rows(s.b, s.a), before={0: kind})
        add("GatherND" + name, parts(s.b, s.c), g.rows(s.b, s.a, 1), before={0: kind})
    add("Where.refused", g.bools(s.a, s.b), parts(s.a, s.b), g.ints(s.b), before={1: total})
    add("Where.refused.mixed", g.bools(s.a, s.b), parts(s.a, s.b), parts(s.b), before={1: total, 2: largest})
    add("Concat.refused", parts(s.a, s.b), parts(s.c, s.b), before={0: total, 1: largest}, axis=0)
    add("Gather.refused", g.ints(9, s.c), g.ints(s.d, s.a, low=0, high=8, dtype=I64), before={1: largest})
    add("Trilu", parts(s.a, s.b), before={0: total})
    add("Trilu.refused", parts(s.a, s.b), before={0: largest})
    add("ReduceSum", parts(s.a, s.b), g.const([1]), before={0: total})
    add("ReduceMean", parts(s.a, s.b), g.const([1]), before={0: total}, exact=False)
    add("ReduceMax", parts(s.a, s.b), g.const([1]), before={0: largest})
    add("ReduceMin", parts(s.a, s.b), g.const([1]), before={0: least})
    add("ReduceMax.refused", parts(s.a, s.b), g.const([1]), before={0: total})
    add("ReduceMin.refused", parts(s.a, s.b), g.const([1]), before={0: largest})
    add("ReduceSum.refused", parts(s.a, s.b), g.const([1]), before={0: least})
    add("ReduceL1.refused", parts(s.a, s.b), g.const([1]), before={0: total})
    return g.all


def every_case(sizes):
    """Cases of every op."""
    g = Cases(sizes)
    families = [elementwise, bits, images, recurrent, contraction, attention, quantized, indexing, caches, layout]
    for family in [*families, normalization, reduction, source, dynamic, recovered]:
        family(g, sizes)
    return g.all
