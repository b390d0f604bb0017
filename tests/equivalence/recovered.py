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


    merged_heads(g, s)


def merged_heads(g, s):
    """Batch and heads are one dim, and no score is below the lowest number."""
    heads, size, keys = 2 * s.b, 4, s.c + 1
    shapes = [[-1, s.c, size], [-1, keys, size], [-1, keys, 3], [-1, heads, s.c, keys], [-1, s.c, keys]]
    g.chain(
        "Attention.merged",
        *[g.eighths(s.a, heads, s.c, size), g.eighths(s.a, heads, keys, size), g.eighths(s.a, heads, keys, 3)],
        *[g.eighths(s.a, 1, s.c, keys), *(g.const(shape) for shape in shapes)],
        *[g.const(np.finfo(F32).min, F32), g.const([-1, heads, s.c, 3])],
        nodes=[
            ("Reshape", [0, 4], "q", {}),
            ("Reshape", [1, 5], "k", {}),
            ("Reshape", [2, 6], "v", {}),
            ("Transpose", ["k"], "keys", {"perm": [0, 2, 1]}),
            ("MatMul", ["q", "keys"], "scores", {}),
            ("Reshape", ["scores", 7], "apart", {}),
            ("Add", ["apart", 3], "masked", {}),
            ("Max", ["masked", 9], "floored", {}),
            ("Reshape", ["floored", 8], "rows", {}),
            ("Softmax", ["rows"], "weights", {"axis": -1}),
            ("MatMul", ["weights", "v"], "merged", {}),
            ("Reshape", ["merged", 10], "out", {}),
        ],
        exact=False,
    )


def rotary(g, s):
    def part(start, end, step=1):
        return [g.const([start]), g.const([end]), g.const([3]), g.const([step])]

    # Neighbours, stacked again; each angle beside its copy.
    g.chain(
        "RotaryEmbedding.neighbours",
        *[g.ints(s.a, s.b, s.c, 4), g.ints(s.a, 1, s.c, 2), g.ints(s.a, 1, s.c, 2)],
        *[*part(0, 4, 2), g.const([1]), g.const([4]), g.const([1, 1, 1, 1, 2])],
        *[g.const([0, 0, s.c, 4]), g.const([0, s.b, s.c, 4])],
        nodes=[
            ("Slice", [0, 3, 4, 5, 6], "a", {}),
            ("Slice", [0, 7, 4, 5, 6], "b", {}),
            ("Neg", ["b"], "negative", {}),
            ("Unsqueeze", ["negative", 8], "left", {}),
            ("Unsqueeze", ["a", 8], "right", {}),
            ("Concat", ["left", "right"], "beside", {"axis": 4}),
            ("Reshape", ["beside", 11], "turned", {}),
            *[
                node
                for i, name in [(1, "cos"), (2, "sin")]
                for node in [
                    ("Unsqueeze", [i, 8], f"{name}.column", {}),
                    ("Expand", [f"{name}.column", 9], f"{name}.pairs", {}),
                    ("Reshape", [f"{name}.pairs", 10], name, {}),
                ]
            ],
            ("Mul", [0, "cos"], "straight", {}),
            ("Mul", ["turned", "sin"], "across", {}),
            ("Add", ["straight", "across"], "out", {}),
        ],
    )
    # The first four elements of a head, heads behind the sequence.
    g.chain(
        "RotaryEmbedding.partial",
        *[g.ints(s.a, s.c, s.b, 6), g.ints(s.a, s.c, 1, 2), g.ints(s.a, s.c, 1, 2)],
        *[*part(0, 2), g.const([4]), g.const([6])],
        nodes=[
            ("Slice", [0, 3, 7, 5, 6], "head", {}),
            ("Slice", [0, 7, 8, 5, 6], "rest", {}),
            ("Slice", ["head", 3, 4, 5, 6], "a", {}),
            ("Slice", ["head", 4, 7, 5, 6], "b", {}),
            ("Mul", ["a", 1], "ac", {}),
            ("Mul", ["b", 2], "bs", {}),
            ("Mul", ["b", 1], "bc", {}),
            ("Mul", ["a", 2], "as", {}),
            ("Sub", ["ac", "bs"], "left", {}),
            ("Add", ["bc", "as"], "right", {}),
            ("Concat", ["left", "right"], "turned", {"axis": 3}),
            ("Concat", ["turned", "rest"], "out", {"axis": 3}),
        ],
    )


def experts(g, s):
    """Tokens s.a, choices 2 of 4 experts, hidden s.c."""
    wide = 2 * s.c
    parts = [g.eighths(s.a, s.b), g.rows(4, s.a, 2, low=0), g.eighths(s.a, 2)]
    sizes = [(4, s.b, wide), (4, s.c, s.d), (4, wide), (4, s.d)]
    matrices = [g.const(g.weight(*dims).data / F32(32), F32) for dims in sizes]
    shapes = [[1], [1, 2, 1], [-1, 1, s.b], [-1, wide], [-1, 1, s.c], [-1, s.d], [-1, 1], [-1, 2, s.d]]
    bounds = [[0], [s.c], [wide], [1], [2]]

    def mixture(name, gates, biases):
        hidden = [("Add", ["product", "upBias"], "hidden", {})] if biases else [("Identity", ["product"], "hidden", {})]
        result = [("Add", ["down", "downBias"], "all", {})] if biases else [("Identity", ["down"], "all", {})]
        g.chain(
            name,
            *[*parts, *matrices, *(g.const(shape) for shape in shapes), *(g.const(bound) for bound in bounds)],
            *[g.const(7 / 8, F32), g.const(-7 / 8, F32), g.const(1, F32)],
            nodes=[
                ("Unsqueeze", [0, 7], "column", {}),
                ("Expand", ["column", 8], "repeated", {}),
                ("Reshape", ["repeated", 9], "rows", {}),
                ("Reshape", [1, 13], "chosen", {}),
                ("GatherND", [3, "chosen"], "up", {}),
                ("MatMul", ["rows", "up"], "stacked", {}),
                ("Reshape", ["stacked", 10], "product", {}),
                ("GatherND", [5, "chosen"], "upBias", {}),
                *hidden,
                *gates,
                ("Reshape", ["activated", 11], "hiddenRows", {}),
                ("GatherND", [4, "chosen"], "downs", {}),
                ("MatMul", ["hiddenRows", "downs"], "results", {}),
                ("Reshape", ["results", 12], "down", {}),
                ("GatherND", [6, "chosen"], "downBias", {}),
                *result,
                ("Reshape", [2, 13], "weights", {}),
                ("Mul", ["all", "weights"], "weighted", {}),
                ("Reshape", ["weighted", 14], "choices", {}),
                ("ReduceSum", ["choices", 18], "out", {"keepdims": 0}),
            ],
            exact=False,
        )

    halves = [
        ("Slice", ["hidden", 15, 16, 18], "gate", {}),
        ("Slice", ["hidden", 16, 17, 18], "partner", {}),
        ("Sigmoid", ["gate"], "sigmoid", {}),
        ("Mul", ["gate", "sigmoid"], "swish", {}),
        ("Mul", ["swish", "partner"], "activated", {}),
    ]
    neighbours = [
        ("Slice", ["hidden", 15, 17, 18, 19], "gate", {}),
        ("Slice", ["hidden", 18, 17, 18, 19], "partner", {}),
        ("Clip", ["gate", "", 20], "low", {}),
        ("Clip", ["partner", 21, 20], "clipped", {}),
        ("Sigmoid", ["low"], "sigmoid", {}),
        ("Mul", ["low", "sigmoid"], "swish", {}),
        ("Add", ["clipped", 22], "shifted", {}),
        ("Mul", ["shifted", "swish"], "activated", {}),
    ]
    mixture("MixtureOfExperts", halves, False)
    mixture("MixtureOfExperts.neighbours", neighbours, True)


def unrolled(g, s):
    """Three experts one by one, of which a TopK chooses two."""
    sizes = [(s.b, s.c), (s.b, s.c), (s.c, s.d)] * 3
    matrices = [g.const(np.roll(g.weight(*dims).data, i) / F32(32), F32) for i, dims in enumerate(sizes)]

    def terms():
        for e in range(3):
            gate, up, down = (5 + 3 * e + i for i in range(3))
            yield ("MatMul", [0, gate], f"gate{e}", {})
            yield ("Relu", [f"gate{e}"], f"relu{e}", {})
            yield ("MatMul", [0, up], f"up{e}", {})
            yield ("Mul", [f"relu{e}", f"up{e}"], f"hidden{e}", {})
            yield ("MatMul", [f"hidden{e}", down], f"down{e}", {})
            yield ("Slice", ["routing", *(14 + e, 15 + e, 15)], f"share{e}", {})
            yield ("Mul", [f"down{e}", f"share{e}"], f"term{e}", {})

    g.chain(
        "MixtureOfExperts.unrolled",
        *[g.eighths(s.a, s.b), g.distinct(s.a, 3), g.const([2]), g.const([0]), g.const(0, F32)],
        *[*matrices, *(g.const([i]) for i in range(4))],
        nodes=[
            ("TopK", [1, 2], ["logits", "chosen"], {"axis": 1}),
            ("Softmax", ["logits"], "weights", {"axis": 1}),
            ("Softmax", [1], "shares", {"axis": 1}),
            ("Mul", ["shares", 4], "zeros", {}),
            ("ScatterElements", ["zeros", "chosen", "weights"], "routing", {"axis": 1}),
            *terms(),
            ("Add", ["term0", "term1"], "two", {}),
            ("Add", ["two", "term2"], "out", {}),
        ],
        exact=False,
    )


def recovered(g, s):
    activations(g, s)
    attention(g, s)
    rotary(g, s)
    experts(g, s)
    unrolled(g, s)
