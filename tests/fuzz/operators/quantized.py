"""Integers that stand for numbers."""

import numpy as np
from onnx import TensorProto

from tests.fuzz.operators.case import F32, I8, MICROSOFT, U8, case


def linear(draw):
    shape = draw.shape(draw.int(2, 3))
    axis = draw.int(-len(shape), len(shape) - 1)
    rows = draw.chance(0.5)
    dims = [shape[axis]] if rows else []
    element = draw.one(U8, I8)
    scale, zero = draw.positive(*dims), draw.one(None, draw.ints(0, 5, *dims, dtype=element))
    more = draw.some({"axis": axis}) if not rows else {"axis": axis}
    if draw.chance(0.5):
        return case(draw, "QuantizeLinear", draw.floats(*shape, scale=9), scale, zero, steps=1, opset=draw.one(13, 19, 21), **more)
    return case(draw, "DequantizeLinear", draw.ints(0, 99, *shape, dtype=U8 if zero is None else element), scale, zero, opset=draw.one(13, 19, 21), **more)


def integer_product(draw):
    m, k, n = draw.shape(3, low=2)
    lead, b_type = draw.shape(draw.int(0, 1)), draw.one(U8, I8)
    a, b = draw.one(((*lead, m, k), (k, n)), ((*lead, m, k), (k, n)), ((k,), (k, n)), ((m, k), (k,)))
    x, w = draw.ints(0, 200, *a, dtype=U8), draw.ints(0, 100, *b, dtype=b_type)
    if draw.chance(0.5):
        zeros = [draw.one(None, U8(3)), draw.one(None, b_type(2))]
        while zeros and zeros[-1] is None:
            zeros.pop()
        return case(draw, "MatMulInteger", x, w, *zeros, weights=(1, 2, 3))
    return case(draw, "QLinearMatMul", x, F32(0.02), U8(3), w, F32(0.01), b_type(2), F32(0.5), U8(100), weights=(1, 2, 3, 4, 5, 6, 7), steps=1, opset=draw.one(13, 21))


def blocks(draw):
    bits, size, rows, count = draw.one(2, 4, 4, 8), 16, draw.int(1, 4) * 4, draw.int(1, 3)
    features = size * count
    x = draw.floats(2, 3, features)
    weights = draw.ints(0, 255, rows, count, size * bits // 8, dtype=U8)
    zero = draw.one(None, draw.ints(0, 255, rows, -(-count * bits // 8), dtype=U8))
    operands = [x, weights, draw.positive(rows, count), zero]
    if zero is None:
        operands.pop()
    return case(draw, "MatMulNBits", *operands, weights=(1, 2, 3), opset=17, domain=MICROSOFT, references=("ort",), tolerance=2e-3, K=features, N=rows,
                bits=bits, block_size=size)  # fmt: skip


def q_linear(draw):
    shape = draw.shape(draw.int(2, 3))
    op = draw.one("QLinearAdd", "QLinearMul", "QLinearWhere", "QLinearSigmoid", "QLinearLeakyRelu")

    def value():
        return [draw.ints(0, 255, *shape, dtype=U8), F32(draw.choices.uniform(0.01, 0.1)), U8(draw.int(0, 255))]

    target = [F32(0.05), U8(draw.int(50, 200))]
    operands = [*value(), *(value() if op[7:] in ("Add", "Mul", "Where") else []), *target]
    fixed = {i for i in range(len(operands)) if i % 3}
    if op == "QLinearWhere":
        operands.insert(0, draw.ints(0, 1, *shape, dtype=np.bool_))
        fixed = {i + 1 for i in fixed}
    fixed |= {len(operands) - 2, len(operands) - 1}
    more = {"alpha": 0.2} if op == "QLinearLeakyRelu" and draw.chance(0.5) else {}
    return case(draw, op, *operands, weights=tuple(fixed), opset=17, domain=MICROSOFT, references=("ort",), steps=1, element=TensorProto.UINT8, **more)


def dynamic(draw):
    return case(draw, "DynamicQuantizeLinear", draw.floats(*draw.shape(), scale=3), results=3, steps=1)


FAMILIES = {f.__name__: f for f in (linear, integer_product, blocks, q_linear, dynamic)}
