"""Ops that import makes of what exporters spell out: chains of ONNX nodes, which the reference runs as they stand."""

import numpy as np

F32 = np.float32


def activations(g, s):
    g.chain(
        "Swish",
        g.eighths(s.a, s.b, s.c),
        g.const(1.5, F32),
        nodes=[
            ("Mul", [0, 1], "product", {}),
            ("Sigmoid", ["product"], "sigmoid", {}),
            ("Mul", [0, "sigmoid"], "out", {}),
        ],
    )


def attention(g, s):
    heads, size, last = 2 * s.b, 4, {"axis": -1}
    product = [("Transpose", [1], "keys", {"perm": [0, 1, 3, 2]}), ("MatMul", [0, "keys"], "scores", {})]

    # A sink for each head is one more column of scores.
    keys = s.c + 1
    g.chain(
        "Attention.sinks",
        *[g.eighths(s.a, heads, s.c, size), g.eighths(s.a, heads, keys, size), g.eighths(s.a, heads, keys, 3)],
        *[g.eighths(1, heads, 1, 1), g.const([0]), g.const([3]), g.const([1]), g.const([keys])],
        nodes=product
        + [
            ("Shape", [0], "dims", {}),
            ("Slice", ["dims", 4, 5], "outer", {}),
            ("Concat", ["outer", 6], "column", {"axis": 0}),
            ("Expand", [3, "column"], "sinks", {}),
            ("Concat", ["scores", "sinks"], "all", last),
            ("Softmax", ["all"], "shares", last),
            ("Slice", ["shares", 4, 7, 5], "weights", {}),
            ("MatMul", ["weights", 2], "out", {}),
        ],
        exact=False,
    )
    # The last three keys, the query's own among them, but for what is padding; rows that see none are 0.
    g.chain(
        "Attention.window",
        *[g.eighths(s.c, heads, s.a, size), g.eighths(s.c, heads, s.a, size), g.eighths(s.c, heads, s.a, 3)],
        *[g.bools(s.c, 1, 1, s.a), g.const(0), g.const(1), g.const([1]), g.const(2), g.const(3)],
        *[g.const(0, F32), g.const(-np.inf, F32)],
        nodes=product
        + [
            ("Shape", [0], "dims", {}),
            ("Gather", ["dims", 7], "size", {}),
            ("Range", [4, "size", 5], "row", {}),
            ("Unsqueeze", ["row", 6], "column", {}),
            ("LessOrEqual", ["row", "column"], "past", {}),
            ("Sub", ["column", 8], "first", {}),
            ("Greater", ["row", "first"], "near", {}),
            ("And", ["past", "near"], "both", {}),
            ("And", ["both", 3], "shown", {}),
            ("Where", ["shown", 9, 10], "mask", {}),
            ("Add", ["scores", "mask"], "masked", {}),
            ("Softmax", ["masked"], "shares", last),
            ("IsNaN", ["shares"], "undefined", {}),
            ("Where", ["undefined", 9, "shares"], "weights", {}),
            ("MatMul", ["weights", 2], "out", {}),
        ],
        exact=False,
    )


def recovered(g, s):
    activations(g, s)
    attention(g, s)
