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


def recovered(g, s):
    activations(g, s)
