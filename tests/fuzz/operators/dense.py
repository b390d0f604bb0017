"""Element by element, reductions, norms and products."""

import numpy as np

from tests.fuzz.operators.case import F16, F32, F64, I32, I64, MICROSOFT, U8, case


def broadcast_shapes(draw):
    """Two shapes of which either may lack dims, or have 1."""
    shape = draw.shape()
    other = [1 if draw.chance(0.3) else size for size in shape[draw.int(0, len(shape)) :]]
    shape = [1 if draw.chance(0.15) else size for size in shape]
    return (shape, other) if draw.chance(0.5) else (other, shape)


def binary(draw):
    op = draw.one("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "Equal", "Less", "GreaterOrEqual", "PRelu")
    a, b = broadcast_shapes(draw)
    if op == "PRelu":
        shape = draw.shape()
        slope = shape[draw.int(0, len(shape)) :]
        return case(draw, op, draw.floats(*shape), draw.floats(*slope))
    if op in ("Div", "Pow", "Mod"):
        dtype = draw.one(F32, F64, I64, I32)
        rhs = draw.ints(1, 4, *b, dtype=dtype)
        more = {"fmod": 1} if op == "Mod" and (dtype in (F32, F64) or draw.chance(0.5)) else {}
        lhs = draw.data(*a, dtype=dtype)
        return case(draw, op, lhs if op == "Mod" else np.abs(lhs), rhs, **more)
    dtype = draw.one(F32, F64, I64, I32, U8 if op in ("Add", "Equal") else F32)
    return case(draw, op, draw.data(*a, dtype=dtype), draw.data(*b, dtype=dtype))


def unary(draw):
    op = draw.one("Abs", "Ceil", "Floor", "Exp", "Log", "Sqrt", "Sin", "Cos", "Tan", "Atan", "Erf", "Neg", "Reciprocal",
                  "Round", "Sign", "Sigmoid", "Tanh", "Softsign", "Softplus", "Asinh", "Sinh")  # fmt: skip
    make = draw.positive if op in ("Log", "Sqrt", "Reciprocal") else draw.floats
    return case(draw, op, make(*draw.shape()))


def activation(draw):
    a, b = round(draw.choices.uniform(0.1, 2), 3), round(draw.choices.uniform(0.1, 1), 3)
    op, attributes, oldest = draw.one(
        ("Celu", {"alpha": a}, 12), ("Elu", {"alpha": a}, 7), ("Selu", {"alpha": a, "gamma": b}, 7),
        ("LeakyRelu", {"alpha": b}, 7), ("ThresholdedRelu", {"alpha": b}, 10), ("HardSigmoid", {"alpha": b, "beta": b}, 7),
        ("Gelu", {"approximate": draw.one("none", "tanh")}, 20), ("Shrink", {"bias": b, "lambd": a}, 9),
        ("HardSwish", {}, 14), ("Mish", {}, 18), ("Swish", {"alpha": a}, 24),
    )  # fmt: skip
    opset = max(oldest, draw.one(7, 11, 13, 17, 20, 22))
    shape = [] if draw.chance(0.1) else draw.shape()
    references = ("onnx", "ort") if opset < 24 else ("onnx",)
    return case(draw, op, draw.floats(*shape), opset=opset, references=references, **draw.some(attributes))


def clip(draw):
    low, high = -draw.int(1, 3) / 2, draw.int(1, 3) / 2
    x = draw.floats(*draw.shape())
    if draw.chance(0.4):
        return case(draw, "Clip", x, opset=draw.one(7, 9, 10), references=("ort",), **draw.some({"min": low, "max": high}))
    bounds = [F32(v) if draw.chance(0.7) else None for v in (low, high)]
    return case(draw, "Clip", x, *bounds, weights=draw.one((), (1, 2)), opset=draw.one(11, 13, 18))


def reduce(draw):
    op = "Reduce" + draw.one("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")
    shape = draw.shape()
    axes = draw.choices.sample(range(len(shape)), draw.int(1, len(shape)))
    axes = [axis - len(shape) if draw.chance(0.3) else axis for axis in axes]
    opset = draw.one(11, 13, 17, 18, 20)
    x = draw.positive(*shape) if op == "ReduceLogSum" else draw.floats(*shape)
    keep = draw.some({"keepdims": draw.int(0, 1)})
    if opset < (13 if op == "ReduceSum" else 18):
        return case(draw, op, x, opset=opset, **keep, **draw.some({"axes": axes}))
    given = draw.one(np.array(axes, I64), None)
    return case(draw, op, x, given, weights=(1,), opset=opset, **keep, **draw.some({"noop_with_empty_axes": draw.int(0, 1)}))


def softmax(draw):
    shape = draw.shape()
    axis = draw.int(-len(shape), len(shape) - 1)
    opset = draw.one(11, 12, 13, 17)
    axis = axis if opset >= 11 else abs(axis)
    op = draw.one("Softmax", "LogSoftmax", "Hardmax")
    references = ("onnx", "ort") if opset >= 13 else ("ort",)  # onnx.reference has but the newest one
    return case(draw, op, draw.floats(*shape), opset=opset, references=references, **draw.some({"axis": axis}))


def norm(draw):
    batch, channels, *image = draw.shape(draw.int(2, 4), low=2)
    x = draw.floats(batch, channels, *image)
    scale, bias = draw.floats(channels), draw.floats(channels)
    epsilon = draw.some({"epsilon": draw.one(1e-3, 1e-5)})
    op = draw.one("LayerNormalization", "RMSNormalization", "BatchNormalization", "InstanceNormalization", "LpNormalization",
                  "LRN", "GroupNormalization", "MeanVarianceNormalization")  # fmt: skip
    if op in ("LayerNormalization", "RMSNormalization"):
        axis = draw.int(-x.ndim, x.ndim - 1)
        shape = x.shape[axis:] if axis else x.shape
        operands = [draw.floats(*shape)]
        if op == "LayerNormalization" and draw.chance(0.6):
            operands.append(draw.floats(*shape))
        return case(draw, op, x, *operands, opset=17 if op[0] == "L" else 23, axis=axis, **epsilon)
    if op == "BatchNormalization":
        return case(draw, op, x, scale, bias, draw.floats(channels), draw.positive(channels), opset=draw.one(9, 14, 15), **epsilon)
    if op == "InstanceNormalization":
        return case(draw, op, draw.floats(batch, channels, 3, *image), scale, bias, **epsilon)
    if op == "LpNormalization":
        return case(draw, op, x, **draw.some({"axis": draw.int(-x.ndim, x.ndim - 1), "p": draw.int(1, 2)}))
    if op == "LRN":
        return case(draw, op, draw.floats(batch, channels, 3, 2), size=draw.one(1, 3, 5, 7, 9, 15), **draw.some({"alpha": 0.1, "beta": 0.5, "bias": 2.0}))
    if op == "GroupNormalization":
        opset = draw.one(18, 21)
        count = 2 if opset == 18 else 4
        return case(draw, op, draw.floats(batch, 4, 3), draw.floats(count), draw.floats(count), opset=opset, num_groups=2,
                    references=("ort",) if opset == 18 else ("onnx", "ort"), **epsilon)  # fmt: skip
    return case(draw, op, draw.floats(batch, channels, 3, 2), opset=13)


def product(draw):
    m, k, n = draw.shape(3)
    if draw.chance(0.5):
        trans_a, trans_b = draw.int(0, 1), draw.int(0, 1)
        a = draw.floats(*((k, m) if trans_a else (m, k)))
        b = draw.floats(*((n, k) if trans_b else (k, n)))
        c = draw.one(None, draw.floats(m, n), draw.floats(n), draw.floats(1), draw.floats(m, 1))
        more = draw.some({"alpha": 0.5, "beta": 2.0})
        return case(draw, "Gemm", a, b, c, weights=draw.one((), (1,), (1, 2)), opset=draw.one(11, 13, 17), transA=trans_a, transB=trans_b, **more)
    lead = draw.shape(draw.int(0, 2))
    a, b = draw.one(
        (draw.floats(*lead, m, k), draw.floats(*lead[draw.int(0, len(lead)) :], k, n)), (draw.floats(k), draw.floats(*lead, k, n)),
        (draw.floats(*lead, m, k), draw.floats(k)), (draw.floats(k), draw.floats(k)))  # fmt: skip
    return case(draw, "MatMul", a, b, weights=draw.one((), (1,)))


def fused(draw):
    """com.microsoft, which onnx.reference has not."""
    b, s, h = draw.shape(3, low=2)
    x, more = draw.floats(b, s, h), {"domain": MICROSOFT, "references": ("ort",), "opset": 17}
    op = draw.one("Gelu", "BiasGelu", "FastGelu", "QuickGelu", "FusedMatMul", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "Trilu")
    if op in ("Gelu", "QuickGelu"):
        return case(draw, op, x, **more, **({"alpha": 1.5} if op == "QuickGelu" and draw.chance(0.5) else {}))
    if op in ("BiasGelu", "FastGelu"):
        return case(draw, op, x, draw.floats(h), **more)
    if op == "Trilu":
        return case(draw, op, x, np.array(draw.int(-2, 2), I64), weights=(1,), **more, **draw.some({"upper": draw.int(0, 1)}))
    if op == "FusedMatMul":
        n, ta, tb = draw.int(1, 4), draw.int(0, 1), draw.int(0, 1)
        lhs = draw.floats(b, h, s) if ta else x
        rhs = draw.floats(b, n, h) if tb else draw.floats(b, h, n)
        return case(draw, op, lhs, rhs, transA=ta, transB=tb, **draw.some({"alpha": 0.5}), **more)
    extra = [draw.floats(h)] + ([draw.one(None, draw.floats(h))] if op == "SkipLayerNormalization" else []) + [draw.one(None, draw.floats(h))]
    while extra[-1] is None:
        extra.pop()
    return case(draw, op, x, draw.floats(b, s, h), *extra, **draw.some({"epsilon": 1e-3}), **more)


def cast(draw):
    types = {F32: 1, F16: 10, F64: 11, I32: 6, I64: 7, U8: 2, np.bool_: 9}
    source, to = draw.one(*types), draw.one(*types)
    x = draw.ints(0, 9, *draw.shape()).astype(source)
    return case(draw, "Cast", x, opset=draw.one(9, 13, 19, 21), to=types[to])


def select(draw):
    a, b = broadcast_shapes(draw)
    op = draw.one("Where", "Sum", "Mean", "Max")
    if op == "Where":
        return case(draw, op, draw.data(*a, dtype=np.bool_), draw.floats(*b), draw.floats(*a))
    return case(draw, op, draw.floats(*a), draw.floats(*b), draw.floats(*a))


FAMILIES = {f.__name__: f for f in (binary, unary, activation, clip, reduce, softmax, norm, product, fused, cast, select)}
