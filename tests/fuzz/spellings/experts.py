"""Mixtures of experts: gathered, dense and unrolled, and sums that choose otherwise."""

import numpy as np

from tests.fuzz.spellings.graph import F32, I64


class Experts:
    def __init__(self, g):
        self.g = g
        self.n, self.k = g.size(1, 2, 3, 5), g.size(1, 2, 2, 3)
        self.e = max(self.k, g.size(2, 3, 4))
        self.d, self.f, self.o = g.size(1, 2, 4), g.size(1, 2, 3), g.size(1, 2, 4)
        self.gate = g.pick("none", "halves", "interleaved")
        self.wide = self.f if self.gate == "none" else 2 * self.f
        self.kind = g.pick("Relu", "Swish", "Gelu", "Tanh" if g.odd("another activation") else "Relu")
        self.alpha = g.pick(1.0, 1.0, 1.702)
        self.limit = g.pick(None, None, 0.75)
        self.shift = g.pick(0.0, 0.0, 1.0)
        self.tokens = g.input("tokens", g.floats(self.n, self.d))

    def routing(self):
        """Choices and their weights, [n, k]."""
        g = self.g
        if g.chance(0.25):
            low = -self.e if g.odd("choices from the end", 0.3) else 0
            chosen = g.numbers.integers(low, self.e, (self.n, self.k)).astype(I64)
            return g.input("chosen", chosen), g.input("weights", g.floats(self.n, self.k))
        # No two the same, whichever way they are rounded.
        logits = g.numbers.permutation(self.n * self.e).reshape(self.n, self.e).astype(F32) / F32(self.e)
        self.logits = g.input("logits", logits)
        data, self.is_soft_first = self.logits, g.chance(0.5)
        if self.is_soft_first:
            data = g.op("Softmax", data, axis=-1)
        largest = 0 if g.odd("the smallest are chosen", 0.1) else 1
        weights, chosen = g.op("TopK", data, g.ints(self.k), outputs=2, axis=g.pick(-1, 1), largest=largest)
        if not self.is_soft_first:
            weights = g.op("Softmax", weights, axis=1)
        return chosen, weights

    # An activation, gated or not.

    def function(self, x):
        g = self.g
        if self.kind in ("Relu", "Tanh"):
            return g.op(self.kind, x)
        if self.kind == "Gelu":
            return g.op("Gelu", x)
        scaled = x if self.alpha == 1 else g.times(x, self.alpha, "alpha of an expert")
        return g.either("Mul", x, g.op("Sigmoid", scaled))

    def activated(self, x, axis):
        """Of values whose last dim, of that number, is `wide`."""
        g = self.g
        if self.gate == "none":
            return g.watch(self.function(x))
        f = self.f
        if self.gate == "halves":
            parts = [g.slice(x, axis, 0, f), g.slice(x, axis, f, 2 * f)]
        else:
            parts = [g.slice(x, axis, i, 2 * f, 2) for i in (0, 1)]
        if g.odd("gate and partner change places", 0.1):
            parts.reverse()
        return self.gated(*parts)

    def gated(self, gate, partner):
        g = self.g
        if self.limit:
            gate = g.op("Clip", gate, "", g.const(self.limit, rank=0))
            low = -self.limit
            if g.odd("other bounds for the partner", 0.15):
                low = -2 * self.limit
            partner = g.op("Clip", partner, g.const(low, rank=0), g.const(self.limit, rank=0))
        if self.shift:
            partner = g.either("Add", partner, g.const(g.near(self.shift, "the shift")))
        return g.watch(g.either("Mul", self.function(gate), partner))

    # Forms.

    def matrices(self, is_transposed, rows, columns):
        dims = (self.e, columns, rows) if is_transposed else (self.e, rows, columns)
        return self.g.tensor("experts", self.g.floats(*dims, scale=0.5))

    def quantised(self):
        """What makes matrices behind DequantizeLinear, all in one form but for some."""
        g = self.g
        is_turned, has_zeros, along = g.chance(0.5), g.chance(0.4), g.pick("one", "each", "blocks")

        def matrix(rows, columns):
            along_here = "one" if g.odd("one scale for some expert", 0.05) else along
            dims = [columns, rows] if is_turned else [rows, columns]
            summed = 1 if is_turned else 0
            sizes, how = {"one": ([], {}), "each": ([columns], {"axis": 1 - summed})}.get(along_here, (None, None))
            if sizes is None:
                block = g.pick(2, 3, rows)
                sizes = list(dims)
                sizes[summed] = -(-rows // block)
                how = {"axis": summed, "block_size": block}
            operands = [g.tensor("q", g.numbers.integers(-128, 128, dims).astype(np.int8))]
            operands.append(g.tensor("s", (g.numbers.integers(1, 9, sizes) / 512).astype(g.float_type)))
            if has_zeros:
                operands.append(g.tensor("z", g.numbers.integers(-9, 10, sizes).astype(np.int8)))
            numbers = g.op("DequantizeLinear", *operands, **how)
            return g.transpose(numbers, 1, 0) if is_turned else numbers

        return matrix

    def bias(self, size, chance=0.4):
        return self.g.tensor("bias", self.g.floats(self.e, size)) if self.g.chance(chance) else None

    def gathered(self):
        """Each choice of a token with matrices of its own."""
        g = self.g
        chosen, weights = self.routing()
        m = self.n * self.k
        flat = g.reshape(chosen, m, 1)
        order = flat
        if g.odd("other experts for the second product", 0.05):
            order = g.reshape(g.op("Mod", g.op("Add", chosen, g.ints(1)), g.ints(self.e)), m, 1)
        if g.odd("tokens repeated in another order", 0.08):
            rows = g.op("Expand", g.op("Unsqueeze", self.tokens, g.ints(0)), g.ints(self.k, 1, 1))
        else:
            rows = g.op("Expand", g.op("Unsqueeze", self.tokens, g.ints(1)), g.ints(1, self.k, 1))

        def product(x, rows, columns, choices, bias):
            is_transposed = g.chance(0.4)
            mats = g.op("GatherND", self.matrices(is_transposed, rows, columns), choices)
            if is_transposed:
                y = g.op("MatMul", mats, g.reshape(x, m, rows, 1))
            else:
                y = g.op("MatMul", g.reshape(x, m, 1, rows), mats)
            y = g.reshape(y, m, columns)
            return g.either("Add", y, g.op("GatherND", bias, choices)) if bias else y

        x = self.activated(product(rows, self.d, self.wide, flat, self.bias(self.wide)), 1)
        y = g.watch(product(x, self.f, self.o, order, self.bias(self.o)))
        if g.chance(0.5):
            y = g.reshape(g.either("Mul", y, g.reshape(weights, m, 1)), self.n, self.k, self.o)
        else:
            y = g.either("Mul", g.reshape(y, self.n, self.k, self.o), g.reshape(weights, self.n, self.k, 1))
        g.output(g.op("ReduceSum", y, g.ints(1), keepdims=0))

    def dense_weights(self):
        """[n, e], 0 for most."""
        g = self.g
        chosen, weights = self.routing()
        value = g.const(0.5 if g.odd("others have weight, too", 0.08) else 0.0, rank=0)
        if hasattr(self, "logits") and g.chance(0.3):
            zeros = g.op("Mul", g.op("Softmax", self.logits, axis=1), value)
        else:
            zeros = g.op("Expand", value, g.ints(self.n, self.e))
        kind = {"reduction": "add"} if g.odd("weights are added", 0.1) else {}
        return g.op("ScatterElements", zeros, chosen, weights, axis=1, **kind)

    def dense(self):
        """All tokens through all experts."""
        g = self.g
        routing = g.transpose(self.dense_weights(), 1, 0)
        if g.chance(0.5):
            rows = g.op("Expand", self.tokens, g.ints(self.e, self.n, self.d))
        else:
            rows = g.reshape(g.op("Tile", self.tokens, g.ints(self.e, 1)), self.e, self.n, self.d)

        def product(x, rows, columns):
            y = g.op("MatMul", x, self.matrices(False, rows, columns))
            bias = self.bias(columns)
            return g.either("Add", y, g.reshape(bias, self.e, 1, columns)) if bias else y

        y = product(self.activated(product(rows, self.d, self.wide), 2), self.f, self.o)
        y = g.either("Mul", g.watch(y), g.reshape(routing, self.e, self.n, 1))
        g.output(g.op("ReduceSum", y, g.ints(0), keepdims=0))

    def unrolled(self):
        """A term for each expert, or for most of them."""
        g = self.g
        routing = self.dense_weights()
        self.limit, self.shift = None, 0.0
        experts = list(range(self.e))
        g.rng.shuffle(experts)
        if g.chance(0.2) and self.e > 2:
            experts.pop()
        if g.odd("an expert twice", 0.06):
            experts[-1] = experts[0]
        terms = []
        is_gated = self.gate != "none"

        expert = self.quantised() if g.chance(0.3) else lambda rows, columns: g.tensor("expert", g.floats(rows, columns, scale=0.5))

        def times(x, rows, columns):
            return g.op("MatMul", x, expert(rows, columns))

        for e in experts:
            if g.odd("another alpha for one expert"):
                self.alpha += 0.5
            x = g.watch(times(self.tokens, self.d, self.f), 0.01)
            if is_gated:
                x = self.gated(x, times(self.tokens, self.d, self.f))
            else:
                x = self.function(x)
            y = times(x, self.f, self.o)
            terms.append(g.either("Mul", y, g.slice(routing, 1, e, e + 1)))
        total = terms[0]
        for term in terms[1:]:
            total = g.watch(g.either("Add", total, term), 0.02)
        if g.odd("something else is added", 0.08):
            total = g.either("Add", total, g.input("rest", g.floats(self.n, self.o)))
        g.output(g.op("Neg", total) if g.chance(0.3) else total)


def experts(g):
    mixture = Experts(g)
    g.pick(mixture.gathered, mixture.dense, mixture.unrolled)()
