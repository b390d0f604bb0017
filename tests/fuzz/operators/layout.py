"""Elements at other places: slices, parts, borders, sequences."""

import numpy as np
from onnx import helper

from tests.fuzz.operators.case import F32, I64, Case, case


def slices(draw):
    shape = draw.shape()
    axes = draw.choices.sample(range(len(shape)), draw.int(1, len(shape)))
    steps = [draw.one(1, 1, 1, 2, 3, -1, -2) for _ in axes]
    far = 2**62
    starts = [draw.one(draw.int(-7, 6), -1 if step < 0 else 0) for step in steps]
    ends = [draw.one(draw.int(-7, 6), -far if step < 0 else far) for step in steps]
    x = draw.floats(*shape)
    if all(step == 1 for step in steps) and draw.chance(0.2):
        return case(draw, "Slice", x, opset=9, references=("ort",), starts=starts, ends=ends, axes=axes)
    axes = [axis - len(shape) if draw.chance(0.3) else axis for axis in axes]
    operands = [np.array(v, I64) for v in (starts, ends, axes, steps)]
    return case(draw, "Slice", x, *operands, weights=(1, 2, 3, 4), opset=draw.one(11, 13, 17), references=("ort",) if -1 in steps or -2 in steps else ("onnx", "ort"))


def split(draw):
    shape = draw.shape()
    axis = draw.int(0, len(shape) - 1)
    cuts = sorted(draw.int(0, shape[axis]) for _ in range(draw.int(1, 2)))
    sizes = np.diff([0, *cuts, shape[axis]])
    x, opset = draw.floats(*shape), draw.one(11, 13, 18)
    if opset == 11:
        return case(draw, "Split", x, results=len(sizes), opset=11, axis=axis, split=[int(size) for size in sizes])
    if opset == 18 and draw.chance(0.5):
        count = draw.int(1, shape[axis])
        return case(draw, "Split", x, results=count, opset=18, axis=axis, num_outputs=count, references=("ort",))
    return case(draw, "Split", x, np.array(sizes, I64), weights=(1,), results=len(sizes), opset=opset, axis=axis)


def pad(draw):
    shape = draw.shape(low=2)
    mode = draw.one("constant", "reflect", "edge", "wrap")
    most = 1 if mode in ("reflect", "wrap") else 3
    pads = [draw.int(-1 if mode == "constant" else 0, most) for _ in range(2 * len(shape))]
    x = draw.floats(*shape)
    if draw.chance(0.2) and mode != "wrap":
        return case(draw, "Pad", x, opset=draw.one(7, 10), references=("ort",), mode=mode, pads=pads, **draw.some({"value": 1.5}))
    value = F32(1.5) if mode == "constant" and draw.chance(0.5) else None
    return case(draw, "Pad", x, np.array(pads, I64), value, weights=(1, 2), opset=19 if mode == "wrap" else draw.one(11, 13, 18), mode=mode)


def views(draw):
    shape = draw.shape(draw.int(2, 4))
    x, op = draw.floats(*shape), draw.one("Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile", "Concat")
    weights = {"weights": (1,)}
    if op == "Transpose":
        return case(draw, op, x, **draw.some({"perm": draw.choices.sample(range(x.ndim), x.ndim)}))
    if op == "Reshape":
        cut = draw.int(0, x.ndim)
        target = [0] * cut + [-1] if draw.chance(0.6) else [-1, int(np.prod(shape[1:]))]
        return case(draw, op, x, np.array(target, I64), opset=draw.one(11, 14), **weights)
    if op == "Flatten":
        return case(draw, op, x, opset=draw.one(11, 13), **draw.some({"axis": draw.int(-x.ndim, x.ndim)}))
    if op in ("Squeeze", "Unsqueeze"):
        axis, opset = draw.int(0, x.ndim - 1), draw.one(11, 13)
        x = x[(slice(None),) * axis + (slice(0, 1),)] if op == "Squeeze" else x
        if opset == 11:
            return case(draw, op, x, opset=11, axes=[axis])
        return case(draw, op, x, np.array([axis], I64), opset=13, **weights)
    if op == "Expand":
        x = x[:, :1]
        return case(draw, op, x, np.array([1 if draw.chance(0.3) else size for size in [2, *shape]], I64), **weights)
    if op == "Tile":
        return case(draw, op, x, draw.ints(1, 3, x.ndim), **weights)
    axis = draw.int(0, x.ndim - 1)
    other = list(shape)
    other[axis] = draw.int(0, 3)
    return case(draw, op, x, draw.floats(*other), axis=axis - x.ndim if draw.chance(0.4) else axis)


def sequence(draw):
    """A tensor taken apart and put together again, through a sequence."""
    shape = draw.shape(draw.int(2, 3), low=2)
    axis = draw.int(0, len(shape) - 1)
    made = Case(draw.one(13, 17, 18), inputs={"x": draw.floats(*shape)}, outputs=["y"])
    size, position, keep = draw.int(1, shape[axis]), draw.int(-1, 0), draw.int(0, 1)
    by_size = draw.chance(0.6)
    if by_size:
        made.weights["split"] = draw.one(np.array(size, I64), np.array([size, shape[axis] - size], I64))
    made.weights["at"] = np.array(position, I64)
    kind = draw.one("at", "insert", "concat", "construct", "erase", "length")
    node = helper.make_node
    parts = node("SplitToSequence", ["x", "split"] if by_size else ["x"], ["s"], axis=axis, keepdims=keep)
    joined = {"axis": axis, "new_axis": int(not by_size and not keep)}
    made.nodes = {
        "at": lambda: [parts, node("SequenceAt", ["s", "at"], ["y"])],
        "insert": lambda: [parts, node("SequenceAt", ["s", "at"], ["e"]), node("SequenceInsert", ["s", "e", "at"], ["t"]),
                           node("ConcatFromSequence", ["t"], ["y"], **joined)],
        "concat": lambda: [parts, node("ConcatFromSequence", ["s"], ["y"], **joined)],
        "construct": lambda: [node("SequenceConstruct", ["x", "x"], ["s"]), node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=keep)],
        "erase": lambda: [node("SequenceConstruct", ["x", "x"], ["s"]), node("SequenceErase", ["s", "at"], ["t"]), node("SequenceAt", ["t", "at"], ["y"])],
        "length": lambda: [parts, node("SequenceLength", ["s"], ["y"])],
    }[kind]()  # fmt: skip
    made.references = ("ort", "onnx")
    return made


FAMILIES = {f.__name__: f for f in (slices, split, pad, views, sequence)}
