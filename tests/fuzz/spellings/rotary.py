"""Rotary embeddings by halves and by neighbours, whole and partial, and turns that are none."""

import numpy as np

from tests.fuzz.spellings.graph import F16, I64


class Rotary:
    def __init__(self, g):
        self.g = g
        self.b, self.h, self.s = g.size(1, 2), g.size(1, 2, 3), g.size(1, 2, 3)
        self.pairs = g.size(1, 2, 4)
        self.is_sequence_first = g.chance(0.25)
        self.tables = {}

    def dims(self, width):
        return [self.b, self.s, self.h, width] if self.is_sequence_first else [self.b, self.h, self.s, width]

    # Tables.

    def angles(self):
        g = self.g
        batch = g.pick(1, 1, self.b)
        dims = [batch, self.s, self.pairs]
        if g.chance(0.3):
            table = g.tensor("angles", g.floats(7, self.pairs))
            places = g.input("places", g.numbers.integers(0, 7, (batch, self.s)).astype(I64))
            return g.op("Gather", table, places)
        return g.input("angles", g.floats(*dims))

    def twice(self, half, is_beside):
        """[.., r] as [.., 2 r]: behind itself, or each element beside its copy."""
        g = self.g
        other = half
        if g.odd("the halves of a table differ", 0.05):
            other = g.op("Mul", half, g.const(1.03))
        if not is_beside:
            return g.op("Concat", half, other, axis=-1)
        if other == half and g.chance(0.5):
            wide = g.op("Expand", g.op("Unsqueeze", half, g.ints(-1)), g.ints(1, 1, 1, 2))
        else:
            wide = g.op("Concat", *(g.op("Unsqueeze", part, g.ints(-1)) for part in (half, other)), axis=-1)
        return g.reshape(wide, 0, 0, 2 * self.pairs)

    def table(self, is_twice, is_beside):
        """Cosines and sines that broadcast over the heads."""
        g = self.g
        key = (is_twice, is_beside)
        if key in self.tables:
            return self.tables[key]
        if g.chance(0.2):  # stored
            half = [g.floats(1, self.s, self.pairs) for _ in range(2)]
            if is_twice:
                half = [np.repeat(x, 2, 2) if is_beside else np.concatenate([x, x], 2) for x in half]
                if g.odd("one element of a stored table is other", 0.1):
                    half[g.rng.randrange(2)][0, -1, -1] += 1
            cos, sin = (g.tensor("table", x) for x in half)
        else:
            angles = self.angles()
            wide_first = g.chance(0.5)
            if is_twice and wide_first:
                angles = self.twice(angles, is_beside)
            cos, sin = g.op("Cos", angles), g.op("Sin", angles)
            if g.chance(0.2):
                factor = np.full(g.pick([], [1], [1, 1, 2 * self.pairs] if is_twice and wide_first else [1]), 0.75)
                scale = g.tensor("scaling", factor.astype(g.float_type))
                cos, sin = g.op("Mul", cos, scale), g.op("Mul", sin, scale)
            if is_twice and not wide_first:
                cos, sin = self.twice(cos, is_beside), self.twice(sin, is_beside)
        if g.odd("cosines and sines change places"):
            cos, sin = sin, cos
        axis = g.ints(2 if self.is_sequence_first else 1)
        self.tables[key] = [g.watch(g.op("Unsqueeze", x, axis)) for x in (cos, sin)]
        return self.tables[key]

    # Turns.

    def parts(self, x, is_beside):
        """a and b of all pairs."""
        g = self.g
        n = self.pairs
        if not is_beside and g.chance(0.4):
            a, b = g.op("Split", x, outputs=2, axis=3, num_outputs=2)
        elif not is_beside:
            a, b = g.slice(x, 3, 0, n), g.slice(x, 3, n, 2 * n)
        elif g.chance(0.6):
            a, b = g.slice(x, 3, 0, 2 * n, 2), g.slice(x, 3, 1, 2 * n, 2)
        else:
            rows = g.reshape(x, 0, 0, 0, n, 2)
            a, b = (g.reshape(g.slice(rows, 4, i, i + 1), 0, 0, 0, n) for i in (0, 1))
        return (b, a) if g.odd("the halves change places") else (a, b)

    def joined(self, first, second, is_beside):
        g = self.g
        if g.odd("joined the other way"):
            is_beside = not is_beside
        if not is_beside:
            return g.op("Concat", first, second, axis=g.pick(-1, 3))
        columns = [g.op("Unsqueeze", part, g.ints(4)) for part in (first, second)]
        return g.reshape(g.op("Concat", *columns, axis=g.pick(-1, 4)), 0, 0, 0, 2 * self.pairs)

    def whole(self, x, is_beside):
        """x cos + r(x) sin"""
        g = self.g
        cos, sin = self.table(True, is_beside)
        a, b = self.parts(x, is_beside)
        first, second = g.op("Neg", b), a
        if g.odd("the other sign"):
            first, second = b, g.op("Neg", a)
        turned = g.watch(self.joined(first, second, is_beside))
        kind = "Sub" if g.odd("less the turn") else "Add"
        straight, across = g.either("Mul", x, cos), g.either("Mul", turned, sin)
        return g.op(kind, straight, across) if kind == "Sub" else g.either("Add", straight, across)

    def of_wide_heads(self):
        """Pair by pair, by a table that holds each angle twice: those of twice as many pairs."""
        g = self.g
        cos, sin = self.table(True, False)
        self.pairs *= 2
        y = self.turned(g.input("x", g.floats(*self.dims(2 * self.pairs))), cos, sin, False)
        self.pairs //= 2
        return y

    def pair_by_pair(self, x, is_beside):
        return self.turned(x, *self.table(False, is_beside), is_beside)

    def turned(self, x, cos, sin, is_beside):
        """a cos - b sin and b cos + a sin"""
        g = self.g
        a, b = self.parts(x, is_beside)
        times = lambda p, q: g.either("Mul", p, q)
        kinds = ("Add", "Sub") if g.odd("the other sign") else ("Sub", "Add")
        left = g.op(kinds[0], times(a, cos), times(b, sin))
        right = g.op(kinds[1], times(b, cos), times(a, sin))
        if g.odd("sums change places"):
            left, right = right, left
        return self.joined(g.watch(left), g.watch(right), is_beside)

    def rotated(self):
        """A part of each head, or all of it."""
        g = self.g
        is_beside = g.chance(0.4)
        turn = g.pick(self.whole, self.pair_by_pair)
        width = 2 * self.pairs
        rest = g.pick(0, 0, 2, 3)
        dims = self.dims(width + rest)
        if rest == 0 and g.odd("angles for more batches than x has", 0.08):
            dims[0] = 1
        x = g.input("x", g.floats(*dims))
        if g.chance(0.3):
            x = g.op("Add", x, g.tensor("bias", g.floats(width + rest)))
        if rest == 0:
            return turn(x, is_beside)
        start = rest if g.odd("the last part is turned", 0.1) else 0
        part = g.slice(x, 3, start, start + width)
        left = g.slice(x, 3, width if start == 0 else 0, width + rest if start == 0 else rest)
        y = g.watch(turn(part, is_beside))
        both = [left, y] if start or g.odd("the rest in front") else [y, left]
        return g.op("Concat", *both, axis=3)


def rotary(g):
    if g.chance(0.15):
        g.float_type, g.tolerance = F16, 1e-2
    rotary = Rotary(g)
    for _ in range(g.pick(1, 2, 3)):
        g.output(rotary.of_wide_heads() if g.odd("one table in two forms", 0.15) else rotary.rotated())
