"""Attention: scores, what is done to them in front of the softmax, heads, and all that resembles it."""

import numpy as np

from tests.fuzz.spellings.graph import F16, F32, I64

LOWEST = {F32: [-np.inf, np.finfo(F32).min, -1e30, -1e4], F16: [-np.inf]}


class Attention:
    def __init__(self, g):
        self.g = g
        self.b, self.kv, self.groups = g.size(1, 2), g.size(1, 2, 3), g.size(1, 1, 2, 3)
        self.heads = self.kv * self.groups
        self.s, past = g.size(1, 2, 5, 6), g.size(0, 0, 1, 3)
        self.t = self.s + past
        self.size, self.value_size = g.size(1, 2, 4, 8), g.size(1, 4, 4)
        # How sizes are known: by number, or by symbols of the inputs.
        self.is_symbolic = g.chance(0.4)
        batch = "b" if self.is_symbolic and g.chance(0.5) else self.b
        queries, keys = ("s", "t" if past else "s") if self.is_symbolic else (self.s, self.t)
        self.symbols = {"b": batch, "s": queries, "t": keys}
        self.scores = [self.b, self.heads, self.s, self.t]
        # A broadcast head where there is one for all queries.
        self.is_broadcast = self.kv == 1 and g.chance(0.4)

    def input(self, hint, kinds, *dims, data=None):
        data = self.g.floats(*dims) if data is None else data
        symbols = [self.symbols.get(kind, dim) if dim != 1 else dim for kind, dim in zip(kinds, dims, strict=True)]
        return self.g.input(hint, data, symbols)

    # Heads.

    def by_heads(self, hint, length, heads, size, kind):
        """b h l d, of an input of other dims perhaps."""
        g = self.g
        if g.chance(0.6):
            return self.input(hint, ["b", "", kind, ""], self.b, heads, length, size)
        flat = self.input(hint, ["b", kind, ""], self.b, length, heads * size)
        return g.transpose(g.reshape(flat, 0, 0, heads, size), 0, 2, 1, 3)

    def repeated(self, x, length, size):
        """Each head for its group of queries; as a near miss all heads, and all of them again."""
        g = self.g
        if self.groups == 1 or self.is_broadcast:
            return x
        axis = 1 if g.odd("heads are tiled, not repeated") else 2
        dims = [self.b, self.kv, length, size]
        dims.insert(axis, self.groups)
        if self.is_symbolic:
            dims = [1, *([self.groups, self.kv] if axis == 1 else [self.kv, self.groups]), 1, 1]
        wide = g.op("Expand", g.op("Unsqueeze", x, g.ints(axis)), g.ints(*dims))
        return g.reshape(wide, 0, self.heads, -1, size)

    def keys(self):
        """b h d t"""
        g = self.g
        x = self.by_heads("k", self.t, self.kv, self.size, "t")
        if g.chance(0.1):
            x = g.times(x, 0.5, "factor of keys")
        if g.chance(0.8):
            return g.transpose(self.repeated(x, self.t, self.size), 0, 1, 3, 2)
        if self.groups > 1 and not self.is_broadcast:
            wide = g.op("Expand", g.op("Unsqueeze", x, g.ints(2)), g.ints(1, 1, self.groups, 1, 1))
            return g.reshape(g.transpose(wide, 0, 1, 2, 4, 3), 0, self.heads, self.size, -1)
        return g.transpose(x, 0, 1, 3, 2)

    # Conditions on scores.

    def positions(self, length, offset, dims):
        """offset, offset + 1, ... of a length, from a Range, a constant or the sizes of an input."""
        g = self.g
        if self.is_symbolic:
            kind, source = ("s", self.query) if length == self.s and dims[0] == -1 else ("t", self.key_source)
            axis = {"s": 2, "t": 3}[kind]
            size = g.op("Gather", g.op("Shape", source), g.tensor("axis", np.array(axis, I64)))
            zero = g.tensor("i", np.array(0, I64))
            values = g.op("Range", zero, size, g.tensor("i", np.array(1, I64)))
            if offset:
                values = g.either("Add", values, g.tensor("i", np.array(offset, I64)))
        else:
            values = g.tensor("places", np.arange(offset, offset + length, dtype=I64))
        return g.reshape(values, *dims)

    def causal(self):
        """key <= query + offset, in one of its spellings."""
        g = self.g
        offset = self.t - self.s
        if g.odd("causality is off by some keys", 0.15):
            offset += g.pick(-1, 1, 2, -offset)
        keys = self.positions(self.t, 0, [1, -1])
        queries = self.positions(self.s, offset, [-1, 1])
        if g.odd("causality the other way round"):
            keys, queries = queries, keys
        how = g.rng.randrange(5)
        if how == 0:
            return g.op("LessOrEqual", keys, queries)
        if how == 1:
            return g.op("GreaterOrEqual", queries, keys)
        if how == 2:
            return g.op("Not", g.op("Greater", keys, queries))
        if how == 3:
            return g.op("Less", keys, g.op("Add", queries, g.ints(1)))
        return g.op("GreaterOrEqual", g.op("Sub", queries, keys), g.ints(0))

    def window(self):
        """Of the last few keys, or of those around the query."""
        g = self.g
        width = g.size(1, 2, 3)
        queries = self.positions(self.s, self.t - self.s, [-1, 1])
        keys = self.positions(self.t, 0, [1, -1])
        if g.chance(0.5):
            near = g.op("Greater", keys, g.op("Sub", queries, g.ints(width)))
        else:
            near = g.op("Less", g.op("Sub", queries, keys), g.ints(width))
        return near if g.odd("a window without causality", 0.2) else g.either("And", near, self.causal())

    def triangle(self):
        """A stored one, from which the part for these sizes is taken."""
        g = self.g
        size = self.t + g.size(0, 2)
        shown = np.tril(np.ones((size, size), np.uint8))
        if g.odd("one element of the triangle is other", 0.1):
            i, j = g.rng.randrange(size), g.rng.randrange(size)
            shown[i, j] ^= 1
        stored = g.tensor("triangle", shown.reshape(1, 1, size, size))
        first = self.t - self.s
        if g.odd("the triangle's rows are off", 0.1) and first > 0:
            first -= 1
        rows = g.slice(stored, 2, first, first + self.s)
        column = 1 if g.odd("the triangle's columns are off", 0.1) and size > self.t else 0
        return g.op("Cast", g.slice(rows, 3, column, column + self.t), to=9)

    def given(self):
        """An input of booleans; some rows may see nothing."""
        g = self.g
        if g.chance(0.5):
            padding = g.bools(self.b, self.t, hidden=g.pick(0.2, 0.6, 0.9))
            if g.chance(0.5):
                padding[:, -1] = True
            return g.op("Unsqueeze", self.input("padding", ["b", "t"], self.b, self.t, data=padding), g.ints(1, 2))
        dims = [g.pick(1, self.b), g.pick(1, self.heads), g.pick(1, self.s), self.t]
        shown = g.bools(*dims)
        if g.chance(0.4):
            shown[..., 0] = True
        return self.input("shown", ["b", "", "s", "t"], *dims, data=shown)

    def condition(self):
        g = self.g
        kinds = [self.given, self.given]
        if self.s > 1 or not self.is_symbolic:
            kinds += [self.causal, self.causal, self.window]
        if not self.is_symbolic:
            kinds.append(self.triangle)
        shown = g.pick(*kinds)()
        if g.chance(0.3):
            other = g.pick(*kinds)()
            kind = "Or" if g.odd("conditions are ored", 0.1) else "And"
            shown = g.either(kind, shown, other)
        return shown

    # What is done to scores.

    def low(self):
        return self.g.pick(*LOWEST[self.g.float_type])

    def mask(self):
        """What is added."""
        g = self.g
        how = g.rng.randrange(5)
        low = self.low()
        if how <= 1:
            shown = self.condition()
            if g.chance(0.5):
                return g.op("Where", shown, g.const(0.0), g.const(low))
            return g.op("Where", g.op("Not", shown), g.const(low), g.const(0.0))
        if how == 2 and np.isfinite(low):
            ones = g.op("Cast", self.condition(), to=1 if g.float_type is F32 else 10)
            return g.either("Mul", g.op("Sub", g.const(1.0), ones), g.const(low))
        dims = [g.pick(1, self.b), g.pick(1, self.heads), g.pick(1, self.s), self.t]
        data = g.floats(*dims)
        if how == 3:  # hides some, whole rows perhaps
            data = np.where(g.bools(*dims), g.float_type(0), g.float_type(low))
        return self.input("mask", ["b", "", "s", "t"], *dims, data=data)

    def step(self, x):
        """One more mask."""
        g = self.g
        how = g.rng.randrange(8)
        if how <= 3:
            return g.either("Add", x, self.mask())
        low = self.low()
        if how <= 5:
            shown = self.condition()
            if g.chance(0.5):
                return g.op("Where", shown, x, g.const(low))
            return g.op("Where", g.op("Not", shown), g.const(low), x)
        if how == 6 and np.isfinite(low):
            return g.either("Max", g.either("Add", x, self.mask()), g.const(low))
        if g.odd("scores are multiplied by 0 or 1", 0.3):
            return g.either("Mul", x, g.op("Cast", self.condition(), to=1 if g.float_type is F32 else 10))
        return g.either("Add", x, self.mask())

    def capped(self, x, what="cap"):
        g = self.g
        cap = g.pick(2.0, 5.0, 50.0)
        inner = g.times(x, 1 / cap, f"{what}: inside")
        return g.times(g.watch(g.op("Tanh", inner)), cap, f"{what}: outside")

    def masked(self, x):
        g = self.g
        for _ in range(g.pick(0, 1, 1, 1, 2, 2, 3)):
            if g.odd("a capped mask"):
                x = g.either("Add", x, self.capped(self.mask(), "cap of a mask"))
                continue
            x = g.watch(self.step(x), 0.02)
            if g.odd("scores are scaled behind a mask", 0.03):
                x = g.times(x, 0.5, "late scale")
        return x

    # The whole.

    def softmax(self, x):
        g = self.g
        axis = g.pick(-1, 3)
        if g.odd("softmax over queries", 0.03):
            axis = 2
        if g.chance(0.15):
            over = g.pick(-1, 3)
            if g.odd("less the maximum over queries"):
                over = 2
            x = g.op("Sub", x, g.op("ReduceMax", x, g.ints(over), keepdims=1))
        if g.float_type is F16 and g.chance(0.7):
            return g.op("Cast", g.op("Softmax", g.op("Cast", x, to=1), axis=axis), to=10)
        return g.op("Softmax", x, axis=axis)

    def weights(self, x):
        g = self.g
        if g.chance(0.12) and not self.is_symbolic:
            return self.with_sinks(x)
        weights = g.watch(self.softmax(x), 0.02)
        if g.chance(0.15):
            value = 0.5 if g.odd("NaN becomes another number", 0.1) else 0.0
            weights = g.op("Where", g.op("IsNaN", weights), g.const(value), weights)
        return weights

    def with_sinks(self, x):
        """One more column, which is dropped again."""
        g = self.g
        sinks = g.tensor("sinks", g.floats(1, self.heads, 1, 1))
        if g.odd("sinks of keys", 0.1):
            sinks = g.tensor("sinks", g.floats(self.b, 1, self.s, 1))
        column = g.op("Expand", sinks, g.ints(self.b, self.heads, self.s, 1))
        is_first = g.odd("sinks in front", 0.1)
        all_ = g.op("Concat", *([column, x] if is_first else [x, column]), axis=-1)
        weights = self.softmax(all_)
        first = 1 if is_first or g.odd("the first column is dropped", 0.1) else 0
        return g.slice(weights, 3, first, first + self.t)

    def build(self):
        g = self.g
        q = self.query = self.by_heads("q", self.s, self.heads, self.size, "s")
        if g.chance(0.3):
            q = g.times(q, 0.5, "factor of queries")
        k = self.key_source = self.keys()
        v = self.repeated(self.by_heads("v", self.t, self.kv, self.value_size, "t"), self.t, self.value_size)
        x = g.op("MatMul", q, k)
        if g.chance(0.6):
            scale = self.size**-0.5
            if g.odd("a scale for each head", 0.1):
                x = g.op("Mul", x, g.tensor("scale", g.floats(self.heads, 1, 1)))
            else:
                x = g.times(x, scale, "the scale")
        is_capped = g.chance(0.25)
        if is_capped and not g.odd("the cap is behind the mask", 0.15):
            x, is_capped = self.capped(x), False
        x = self.masked(x)
        if is_capped:
            x = self.capped(x)
        y = g.op("MatMul", self.weights(x), v)
        if g.chance(0.3):
            y = g.reshape(g.transpose(y, 0, 2, 1, 3), 0, 0, self.heads * self.value_size)
        g.output(y)


def attention(g):
    if g.chance(0.15):
        g.float_type, g.tolerance = F16, 2e-2
    else:
        g.tolerance = 2e-3  # -1e4 leaves three digits of a score
    Attention(g).build()


def native(g):
    """The op that ONNX has, by masks that are spelled."""
    g.tolerance = 2e-3
    a = Attention(g)
    a.is_broadcast = False
    q = a.query = a.by_heads("q", a.s, a.heads, a.size, "s")
    k = a.by_heads("k", a.t, a.kv, a.size, "t")
    v = a.by_heads("v", a.t, a.kv, a.value_size, "t")
    if g.chance(0.4):
        k, v = a.repeated(k, a.t, a.size), a.repeated(v, a.t, a.value_size)
    a.key_source = g.transpose(k, 0, 1, 3, 2)
    inputs = [q, k, v]
    if g.chance(0.8):
        inputs.append(a.condition() if g.chance(0.5) else a.mask())
    attributes = {"scale": g.pick(0.5, 0.25)} if g.chance(0.5) else {}
    if g.chance(0.3):
        attributes["softcap"] = 2.0
    if len(inputs) == 3 and g.chance(0.5):  # of masks that broadcast, the reference takes causality for that of one row
        attributes["is_causal"] = 1
    g.output(g.op("Attention", *inputs, **attributes))


def merged_heads(g):
    """Batch and heads as one dim, as torch.bmm wants them."""
    b, h, s, t, d = g.size(1, 2), g.size(1, 2, 3), g.size(1, 2, 4), g.size(1, 3, 4), g.size(2, 4)
    g.tolerance = 2e-3

    def merged(hint, length):
        x = g.input(hint, g.floats(b, h, length, d))
        return g.reshape(x, b * h, length, d)

    q, k, v = merged("q", s), merged("k", t), merged("v", t)
    if g.chance(0.5):
        q = g.times(q, d**-0.5, "the scale")
    if g.odd("a factor that broadcasts"):
        q = g.op("Mul", q, g.tensor("f", np.full((s, 1), 0.5, F32)))
    x = g.op("MatMul", q, g.transpose(k, 0, 2, 1))
    if g.chance(0.3):
        x = g.either("Add", x, g.input("alibi", g.floats(*g.pick((b * h, 1, t), (b * h, s, t), (1, s, t), (s, t)))))
    for _ in range(g.pick(0, 1, 1)):
        mask = g.input("mask", np.where(g.bools(b, 1, s, t), F32(0), F32(np.finfo(F32).min)))
        apart = g.op("Add", g.reshape(x, b, h, s, t), mask)
        if g.chance(0.5):
            apart = g.op("Max", apart, g.const(np.finfo(F32).min))
        x = g.reshape(apart, b * h, s, t)
    weights = g.watch(g.op("Softmax", x, axis=1 if g.odd("softmax over queries") else -1))
    y = g.op("MatMul", weights, v)
    dims = (h, b) if g.odd("batch and heads change places", 0.1) else (b, h)
    g.output(g.reshape(y, *dims, s, d) if g.chance(0.8) else y)
