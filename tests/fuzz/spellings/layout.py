"""Reshapes, Transposes, Gathers and Scatters by positions in order, and by others."""

import numpy as np

from tests.fuzz.spellings.graph import F32, I64


def factors(g, size):
    """The size as a product, in order."""
    parts = []
    while size > 1 and g.chance(0.7):
        divisor = g.rng.choice([d for d in range(1, size + 1) if size % d == 0])
        parts.append(divisor)
        size //= divisor
    return parts + [size] + [1] * g.pick(0, 0, 1)


def chain(g):
    """What moves elements about, without changing one."""
    dims = [g.size(1, 2, 3, 4) for _ in range(g.size(2, 3, 4))]
    x = g.input("x", np.arange(np.prod(dims), dtype=F32).reshape(dims))
    for _ in range(g.size(2, 3, 5, 8)):
        if g.chance(0.5):
            perm = list(range(len(dims)))
            g.rng.shuffle(perm)
            x, dims = g.transpose(x, *perm), [dims[d] for d in perm]
        elif g.chance(0.5) and len(dims) > 1:  # merge neighbours
            at = g.rng.randrange(len(dims) - 1)
            dims = dims[:at] + [dims[at] * dims[at + 1]] + dims[at + 2 :]
            x = g.reshape(x, *dims)
        else:  # split one
            at = g.rng.randrange(len(dims))
            apart = dims[:at] + factors(g, dims[at]) + dims[at + 1 :]
            if len(apart) <= 6:
                x, dims = g.reshape(x, *apart), apart
        g.watch(x)
    g.output(g.op("Neg", x))


def counted(g, size, axis, rank, stride=1):
    """0, stride, 2 stride, ... along an axis of as many dims; now and then others."""
    values = np.arange(size, dtype=I64) * stride
    if g.odd("an index is off"):
        values[g.rng.randrange(size)] = 0
    if g.odd("indices backwards"):
        values = values[::-1].copy()
    if g.odd("indices from the second on") and size > 1:
        values = np.roll(values, 1)
    dims = [1] * rank
    dims[axis] = size
    return g.reshape(g.tensor("count", values), *dims)


def gather(g):
    """data[i * s + j] of merged dims, or data[i, j]."""
    b, s, d = g.size(1, 2, 3), g.size(1, 2, 4), g.size(1, 3)
    data = g.input("data", g.floats(b, s, d))
    rank = g.size(2, 3)
    first, second = g.rng.sample(range(rank), 2)
    repeats = [1] * rank
    if rank == 3 and g.chance(0.5):
        repeats[3 - first - second] = 2
    if g.chance(0.5):
        stride = g.pick(s, s, s, 1) if g.odd("another stride", 0.1) else s
        index = g.either("Add", counted(g, b, first, rank, stride), counted(g, s, second, rank))
        if max(repeats) > 1:
            index = g.op("Expand", index, g.ints(*repeats))
        if stride != s:
            index = g.op("Mod", index, g.ints(b * s))
        merged = g.reshape(data, b * s, d)
        g.output(g.op("Gather", merged, index, axis=0))
        return
    dims = list(repeats)
    dims[first], dims[second] = b, s
    columns = []
    for size, axis in ((b, first), (s, second)):
        wide = g.op("Expand", counted(g, size, axis, rank), g.ints(*dims))
        columns.append(g.op("Unsqueeze", wide, g.ints(-1)))
    if g.odd("columns change places") and b == s:
        columns.reverse()
    g.output(g.op("GatherND", data, g.op("Concat", *columns, axis=-1)))


def scatter(g):
    b, s, d = g.size(1, 2, 3), g.size(1, 2, 4), g.size(1, 3)
    data, updates = g.input("data", g.floats(b, s, d)), g.input("updates", g.floats(b, s, d))
    columns = [
        g.op("Unsqueeze", g.op("Expand", counted(g, size, axis, 2), g.ints(b, s)), g.ints(-1))
        for size, axis in ((b, 0), (s, 1))
    ]
    if g.odd("columns change places", 0.1) and b == s:
        columns.reverse()
    kind = {"reduction": "add"} if g.odd("added to the data", 0.1) else {}
    g.output(g.op("ScatterND", data, g.op("Concat", *columns, axis=-1), updates, **kind))


def layout(g):
    g.pick(chain, chain, gather, scatter)(g)
