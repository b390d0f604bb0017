"""Gelu and Swish in any order of factors, and functions that look like them."""

import math

from tests.fuzz.spellings.graph import F16, F64


def product(g, factors):
    """Of all of them, in any order."""
    g.rng.shuffle(factors)
    result = factors[0]
    for factor in factors[1:]:
        result = g.watch(g.op("Mul", result, factor))
    return result


def half_times(g, x, t, what):
    """0.5 x (1 + t)"""
    one = g.near(1, f"{what}: the 1")
    half = g.near(0.5, f"{what}: the half")
    if g.chance(0.25):  # 0.5 (x + x t)
        return g.times(g.watch(g.either("Add", x, g.either("Mul", x, t))), half, what)
    kind = "Sub" if g.odd(f"{what}: 1 - t") else "Add"
    sum_ = g.op(kind, g.const(one), t) if kind == "Sub" or g.chance(0.5) else g.op("Add", t, g.const(one))
    return product(g, [x, g.const(half), g.watch(sum_)])


def gelu(g, x):
    argument = g.times(x, math.sqrt(0.5), "gelu: sqrt(1/2)")
    return half_times(g, x, g.watch(g.op("Tanh" if g.odd("gelu: tanh for erf") else "Erf", argument)), "gelu")


def cube(g, x):
    if g.chance(0.5):
        return g.op("Pow", x, g.const(g.pick(2.0, 4.0) if g.odd("gelu: another power") else 3.0))
    return product(g, [x, x, x])


def gelu_tanh(g, x):
    small = g.near(0.044715, "gelu: 0.044715")
    if g.chance(0.3):  # x (1 + c x^2)
        square = g.op("Pow", x, g.const(2.0)) if g.chance(0.5) else g.op("Mul", x, x)
        inner = g.op("Mul", x, g.either("Add", g.const(1.0), g.either("Mul", square, g.const(small))))
    else:
        inner = g.either("Add", x, g.either("Mul", cube(g, x), g.const(small)))
    argument = g.times(g.watch(inner), math.sqrt(2 / math.pi), "gelu: sqrt(2/pi)")
    return half_times(g, x, g.op("Tanh", argument), "gelu")


def swish(g, x):
    argument = x
    if g.chance(0.5):
        argument = g.times(x, g.pick(1.702, 1.5, 0.25), "swish: alpha")
    if g.odd("swish: of -x"):
        argument = g.op("Neg", argument)
    sigmoid = g.watch(g.op("Sigmoid", argument))
    other = g.input("other", g.feeds[x], g.symbols) if g.odd("swish: times another value") else x
    return g.either("Mul", sigmoid, other)


def activation(g):
    if g.chance(0.2):
        g.float_type, g.tolerance = g.pick((F16, 1e-2), (F64, 1e-6))
    size = g.size(1, 2, 5, 16)
    rows = g.size(1, 3, 4)
    g.symbols = [g.pick("n", rows), size]
    x = g.input("x", g.floats(rows, size, scale=2), g.symbols)
    if g.chance(0.3):
        x = g.op("Add", x, g.tensor("bias", g.floats(size)))
    if x in g.feeds or g.chance(0.5):
        kinds = [gelu, gelu_tanh, swish]
    else:
        kinds = [gelu, gelu_tanh]
    g.output(g.pick(*kinds)(g, x) if x in g.feeds else g.pick(*kinds[:2])(g, x))
