"""Elements chosen by data."""

import numpy as np

from tests.fuzz.operators.case import F32, I32, I64, case


def gather(draw):
    shape = draw.shape(draw.int(1, 3))
    axis = draw.int(-len(shape), len(shape) - 1)
    x, size = draw.floats(*shape), shape[axis]
    op = draw.one("Gather", "GatherElements", "GatherND")
    if op == "Gather":
        places = draw.ints(-size, size - 1, *draw.shape(draw.int(0, 2)), dtype=draw.one(I64, I32))
        return case(draw, op, x, places, weights=draw.one((), (1,)), **({"axis": axis} if axis % x.ndim else draw.some({"axis": axis})))
    if op == "GatherElements":
        dims = list(shape)
        dims[axis] = draw.int(1, 4)
        return case(draw, op, x, draw.ints(-size, size - 1, *dims), axis=axis)
    depth = draw.int(1, x.ndim)
    places = np.stack([draw.ints(-n, n - 1, 3, 2) for n in shape[:depth]], -1)
    return case(draw, op, x, places)


def scatter(draw):
    shape = draw.shape(draw.int(1, 3))
    axis = draw.int(-len(shape), len(shape) - 1)
    x, how = draw.floats(*shape), draw.one("none", "add", "mul", "max", "min")
    if draw.chance(0.5):
        dims = list(shape)
        dims[axis] = draw.int(1, shape[axis])
        order = np.argsort(draw.floats(*shape), axis)  # each place once
        places = np.take(order, range(dims[axis]), axis)
        return case(draw, "ScatterElements", x, places, draw.floats(*dims), opset=18, axis=axis, reduction=how)
    rows = draw.numbers.permutation(shape[0])[: draw.int(1, shape[0])].reshape(-1, 1).astype(I64)
    return case(draw, "ScatterND", x, rows, draw.floats(len(rows), *shape[1:]), opset=18, reduction=how)


def top(draw):
    shape = draw.shape(draw.int(1, 3), low=2)
    axis = draw.int(-len(shape), len(shape) - 1)
    x = draw.numbers.permutation(int(np.prod(shape))).reshape(shape).astype(F32)
    op = draw.one("TopK", "ArgMax", "ArgMin", "CumSum")
    if op == "CumSum":
        return case(draw, op, x, np.array(axis, I64), weights=(1,), **draw.some({"exclusive": draw.int(0, 1), "reverse": draw.int(0, 1)}))
    if op != "TopK":
        more = draw.some({"keepdims": draw.int(0, 1), "select_last_index": draw.int(0, 1)})
        return case(draw, op, np.floor(x / 2), opset=draw.one(12, 13, 18), axis=axis, **more)
    k, opset = draw.int(1, shape[axis]), draw.one(7, 10, 11, 18)
    if opset == 7:
        return case(draw, op, x, results=2, opset=7, references=("ort",), k=k, axis=axis % len(shape))
    more = draw.some({"largest": draw.int(0, 1)}) if opset >= 11 else {}
    return case(draw, op, x, np.array([k], I64), weights=(1,), results=2, opset=opset, axis=axis if opset >= 11 else axis % len(shape), **more)


def made(draw):
    """Numbers that come from sizes and counts."""
    op = draw.one("OneHot", "Trilu", "EyeLike", "Range", "ConstantOfShape", "NonZero", "Compress")
    if op == "OneHot":
        depth = draw.int(2, 5)
        return case(draw, op, draw.ints(-depth, depth - 1, *draw.shape()), np.array(depth, I64), draw.floats(2), weights=(1,), **draw.some({"axis": draw.one(0, -1)}))
    if op == "Trilu":
        shape = draw.shape(draw.int(2, 3))
        return case(draw, op, draw.floats(*shape), np.array(draw.int(-2, 3), I64), weights=(1,), **draw.some({"upper": draw.int(0, 1)}))
    if op == "EyeLike":
        return case(draw, op, draw.floats(*draw.shape(2)), **draw.some({"k": draw.int(-2, 2), "dtype": draw.one(1, 7)}))
    if op == "Range":
        start, step = draw.int(-3, 3), draw.one(-2, -1, 1, 2)
        limit = draw.int(-3, 6)
        return case(draw, op, *(np.array(v, I64) for v in (start, limit, step)), weights=draw.one((2,), (0, 2), (0, 1, 2)))
    if op == "ConstantOfShape":
        return case(draw, op, draw.ints(0, 3, draw.int(1, 3)), weights=draw.one((), (0,)))
    x = draw.ints(-1, 1, *draw.shape(2)).astype(F32)
    if op == "NonZero":
        return case(draw, op, x)
    return case(draw, op, x, draw.ints(0, 1, x.shape[0], dtype=np.bool_), axis=0)


FAMILIES = {f.__name__: f for f in (gather, scatter, top, made)}
