"""RMS and layer norms from arithmetic, and what is divided by something else."""

from tests.fuzz.spellings.graph import F16, F32, F64

import numpy as np


def mean(g, x, axes, rank, what):
    if g.odd(f"norm: {what} over another axis"):
        axes = [g.rng.randrange(rank)]
    if rank > 1 and g.odd(f"norm: {what} over all axes", 0.02):
        axes = list(range(rank))
    given = [axis - rank if g.chance(0.4) else axis for axis in axes]
    if len({axis % (rank + 1) for axis in given}) < len(given):  # x may have a dim more than it had: see square
        given = axes
    kind = "ReduceSum" if g.odd(f"norm: {what} is a sum") else "ReduceMean"
    return g.op(kind, x, g.ints(*given), keepdims=1)


def square(g, x, rank):
    if g.chance(0.5):
        return g.op("Mul", x, x)
    exponent = g.near(2.0, "norm: the exponent")
    dims = [1] * (rank + 1) if g.odd("norm: an exponent of more dims", 0.08) else [1] * g.rng.randint(0, rank)
    return g.op("Pow", x, g.tensor("two", np.full(dims, abs(exponent), g.float_type)))


def divided(g, x, variance, epsilon):
    """x / sqrt(variance + epsilon), in all the ways there are."""
    def power(value, exponent, kind=None):
        if kind and g.chance(0.6):
            return g.op(kind, value)
        return g.op("Pow", value, g.const(exponent))

    if g.odd("norm: epsilon behind the root"):
        root = g.op("Add", power(variance, 0.5, "Sqrt"), g.const(epsilon))
    else:
        root = None
        biased = g.watch(g.either("Add", variance, g.const(epsilon)))
        if g.chance(0.2):
            return g.either("Mul", x, power(biased, g.near(-0.5, "norm: the root's exponent")))
        if g.chance(0.15):
            return g.either("Mul", x, power(g.op("Reciprocal", biased), 0.5, "Sqrt"))
    root = g.watch(root or power(biased, 0.5, "Sqrt"))
    how = g.rng.randrange(3)
    if how == 0:
        return g.op("Div", x, root)
    one = g.near(1.0, "norm: the 1 above the root")
    inverse = g.op("Reciprocal", root) if how == 1 else g.op("Div", g.const(one), root)
    return g.either("Mul", x, inverse)


def parameter(g, dims, axes):
    """A scale or a bias, along all of the axes or fewer, or along another one."""
    own = [dims[axis] for axis in axes]
    if g.chance(0.2):
        own = own[-1:]
    if g.odd("norm: a parameter of other dims"):
        own = g.pick([1], [], [dims[0]] + [1] * (len(dims) - 1), list(dims))
    data = g.floats(*own)
    if g.chance(0.2):
        return g.input("parameter", data)
    return g.tensor("parameter", data)


def norm(g):
    narrow = None
    if g.chance(0.25):
        g.float_type, g.tolerance = g.pick((F16, 2e-2), (F64, 1e-6))
        narrow = F16 if g.float_type is F16 else None
    rank = g.size(1, 2, 3, 3, 4)
    dims = [g.size(1, 2, 3) for _ in range(rank - 1)] + [g.size(1, 4, 6, 8)]
    symbols = [g.pick(f"d{i}", dim) if i < rank - 1 else dim for i, dim in enumerate(dims)]
    count = 2 if rank > 2 and g.chance(0.15) else 1
    axes = list(range(rank - count, rank))
    if count == 2:
        symbols[-2] = dims[-2]
    x = source = g.input("x", g.floats(*dims), symbols)
    epsilon = g.pick(1e-5, 1e-6, 1e-12, 0.1, 0.25)
    if narrow and g.chance(0.8):
        x = g.op("Cast", x, to=1)
        g.float_type = F32
    is_layer = g.chance(0.5)
    if is_layer:
        center = mean(g, x, axes, rank, "the mean")
        x = g.watch(g.op("Sub", center, x) if g.odd("norm: the mean less x") else g.op("Sub", x, center))
    squared = square(g, source if is_layer and not narrow and g.odd("norm: squares of what is not centred") else x, rank)
    variance = g.watch(mean(g, squared, axes, rank, "the square"))
    numerator = source if is_layer and not narrow and g.odd("norm: x, not centred, is divided") else x
    result = g.watch(divided(g, numerator, variance, epsilon))
    if narrow and g.float_type is F32:
        g.float_type = F16
        result = g.watch(g.op("Cast", result, to=10))
    if g.chance(0.7):
        scale = parameter(g, dims, axes)
        if g.chance(0.2):
            scale = g.either("Add", scale, g.const(1.0))
        result = g.watch(g.either("Mul", result, scale))
        if g.chance(0.5):
            result = g.either("Add", result, parameter(g, dims, axes))
    g.output(result)
