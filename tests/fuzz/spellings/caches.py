"""Past and present of caches, in the types in which models hold and read them."""

from tests.fuzz.spellings.graph import F16, F32

ELEMENT = {F32: 1, F16: 10}


def cache(g, number):
    """present = past | new, read by a product, in one type or another."""
    outer, inner = g.pick((F32, F32), (F32, F16), (F16, F32), (F16, F16))
    g.tolerance = 1e-2 if F16 in (outer, inner) else 2e-4
    b, h, s, past, d = g.size(1, 2), g.size(1, 2), g.size(1, 2, 3), g.size(0, 1, 2, 4), g.size(2, 4)
    axis = g.pick(2, 2, 2, 1)
    lengths = {1: h, 2: s}
    dims = [b, h, s, d]
    old = list(dims)
    old[axis] = past
    symbols = [g.pick(f"b{number}", b), h, s, d]
    symbols[axis] = f"past{number}"
    g.float_type = outer
    before = g.input("past", g.floats(*old), symbols)
    g.float_type = inner
    symbols[axis] = g.pick(f"s{number}", lengths[axis]) if lengths[axis] > 1 else lengths[axis]
    new = g.input("new", g.floats(*dims), symbols)
    read = before if outer == inner else g.op("Cast", before, to=ELEMENT[inner])
    parts = [read, new]
    if g.odd("new entries in front", 0.1):
        parts.reverse()
    if g.odd("past twice", 0.05):
        parts.append(read)
    joined = g.op("Concat", *parts, axis=axis)
    present = joined if outer == inner else g.op("Cast", joined, to=ELEMENT[outer])
    g.output(present)
    q = g.input("q", g.floats(1, 1, 2, d))
    source = joined
    if outer != inner and g.chance(0.4):  # what was rounded on the way is read again
        source = g.op("Cast", present, to=ELEMENT[inner])
    y = g.op("MatMul", q, g.transpose(source, 0, 1, 3, 2))
    g.output(g.op("ReduceMax", y, g.ints(-1), keepdims=1) if lengths[axis] + past > 0 and g.chance(0.3) else y)
    if g.odd("past is read afterwards", 0.15):
        g.output(g.op("Neg", before))
    if g.odd("past is an output as it is", 0.1):
        g.output(g.op("Identity", before))
    if g.odd("two caches of one past", 0.08):
        g.output(g.op("Concat", before, before, axis=axis))


def caches(g):
    for number in range(g.pick(1, 1, 2)):
        cache(g, number)
