"""Halves that are computed and compared: each result is rounded before anything that jumps sees it.

Whole numbers of some thousands, of which a half holds every second, fourth or eighth: most sums are rounded, and what
they are compared with is, in many places, the sum as it is rounded.
"""

from dataclasses import replace

import numpy as np
from onnx.reference import ReferenceEvaluator

from tests.fuzz.spellings.graph import F16


def as_computed(g, value):
    """An input that holds what the reference computes of a value, or a number beside it."""
    found = ReferenceEvaluator(replace(g, outputs=[value]).model()).run(None, g.feeds)[0]
    beside = np.where(g.bools(*found.shape, hidden=0.2), found, np.nextafter(found, F16(np.inf)))
    return g.input("expected", beside)


def halves(g):
    g.float_type, g.tolerance = F16, 2e-2
    rows, columns = g.size(1, 2, 5), g.size(1, 4, 33)

    def whole(*dims):
        return g.numbers.integers(-4000, 4000, dims).astype(F16)

    given = [g.input("x", whole(rows, columns)), g.input("y", whole(rows, columns)), g.tensor("row", whole(columns))]
    values, conditions = list(given), []
    for _ in range(g.size(2, 4, 8)):
        kind = g.pick("Add", "Add", "Sub", "Mul", "Min", "Max", "Neg", "Abs", "Where")
        recent = values[-1] if g.chance(0.6) else g.pick(*values)
        if kind in ("Neg", "Abs"):
            values.append(g.op(kind, recent))
        elif kind == "Mul":
            values.append(g.op(kind, recent, g.const(g.pick(0.1, 0.37, 0.9))))
        elif kind != "Where":
            values.append(g.op(kind, recent, g.pick(*given)))
        elif conditions:
            values.append(g.op(kind, g.pick(*conditions), recent, g.pick(*values)))
        if g.chance(0.5):
            kind = g.pick("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
            conditions.append(g.op(kind, values[-1], as_computed(g, values[-1])))
            g.watch(conditions[-1], 0.3)
        elif g.chance(0.4):
            values.append(g.watch(g.op(g.pick("Floor", "Ceil", "Round"), values[-1]), 0.3))
    g.output(g.op(g.pick("Floor", "Round"), values[-1]), *conditions[-1:])
