"""Quantised weights of products as arithmetic: integers, less zero points, times scales, in any layout."""

import numpy as np

from tests.fuzz.spellings.graph import F16


def near_zero_point(g, low, high):
    """A number that the integers' type holds, or one that it does not."""
    if g.odd("weights: a zero point that is no integer"):
        return 0.5
    if g.odd("weights: a zero point outside of the type"):
        return float(high + 1)
    return float(g.size(low, 0, high, (low + high + 1) // 2))


def parameter_dims(g, dims, blocks):
    """Of a scale or zero point: one, for some dims, or for blocks."""
    if blocks is not None and g.chance(0.6):
        kept = [size if d in (blocks, g.pick(*range(len(dims)))) else 1 for d, size in enumerate(dims)]
        if g.odd("weights: scales repeat within blocks"):
            kept[blocks + 1] = dims[blocks + 1]
        return kept
    kept = [1] * len(dims)
    for _ in range(g.size(0, 1, 1, 2)):
        d = g.rng.randrange(len(dims))
        kept[d] = dims[d]
    while len(kept) > 1 and kept[0] == 1 and g.chance(0.5):
        kept.pop(0)
    return kept


def integers(g, dims, low, high, kind):
    name = g.tensor("q", g.numbers.integers(low, high + 1, dims).astype(kind))
    if kind == np.uint8 and g.chance(0.2):  # of four bits, the upper ones
        return g.op("BitShift", name, g.tensor("four", np.array(4, kind)), direction="RIGHT")
    return name


def difference(g, numbers, dims, blocks, low, high, kind, float_type):
    choice = g.size(0, 0, 1, 2, 2)
    if choice == 0:
        return numbers
    if choice == 1:
        number = near_zero_point(g, low, high)
        if g.odd("weights: a difference the other way round"):
            return g.op("Sub", g.const(number), numbers)
        return g.op("Add", numbers, g.const(-number)) if g.chance(0.2) else g.op("Sub", numbers, g.const(number))
    sizes = parameter_dims(g, dims, blocks)
    zeros = g.numbers.integers(low, high + 1, sizes).astype(np.int16 if g.odd("weights: wide zero points") else kind)
    return g.op("Sub", numbers, g.op("Cast", g.tensor("z", zeros), to=float_type))


def weight(g, k, n):
    """[k, n]"""
    kind = g.pick(np.int8, np.uint8)
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    is_tall, blocks = g.chance(0.4), None
    dims = [k, n] if is_tall else [n, k]
    if g.chance(0.5):
        along = 0 if is_tall else 1
        block = g.pick(2, 4, k // 2)
        dims[along : along + 1] = [k // block, block]
        blocks = along
    float_type = 10 if g.float_type == F16 else 1
    numbers = g.op("Cast", integers(g, dims, low, high, kind), to=float_type)
    numbers = difference(g, numbers, dims, blocks, low, high, kind, float_type)
    if g.chance(0.8):
        scale = g.tensor("s", (g.numbers.integers(1, 9, parameter_dims(g, dims, blocks)) / 256).astype(g.float_type))
        numbers = g.either("Mul", numbers, scale)
    numbers = g.watch(numbers) if g.chance(0.1) else numbers
    if blocks is not None:
        numbers = g.reshape(numbers, *([k, n] if is_tall else [n, k]))
    return numbers if is_tall else g.transpose(numbers, 1, 0)


def weights(g):
    if g.chance(0.2):
        g.float_type, g.tolerance = F16, 2e-2
    k, n, rows = g.size(32, 48), g.size(12, 18, 36), g.size(1, 3, 4)  # smaller ones are folded
    x = g.input("x", g.floats(rows, k, scale=0.25), [g.pick("n", rows), k])
    g.symbols = [rows, n]
    y = g.op("MatMul", x, weight(g, k, n))
    if g.chance(0.3):
        y = g.either("Mul", y, g.tensor("s", g.floats(n)))
    g.output(y)
