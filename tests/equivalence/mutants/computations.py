"""Wrong computations: each is (kind, what, change), a change of one program's body.

Kinds: claim (a value's sharding), op, operand, operand order, attribute, delete op, guard, input, output, cache, given,
profile, batch inputs.
"""

import re
from dataclasses import replace

from tests.equivalence.mutants.text import Tensor

OTHER_OPS = {
    "Add": ["Sub", "Mul"], "Sub": ["Add"], "Mul": ["Add", "Div"], "Div": ["Mul"], "Pow": ["Mul"], "Tanh": ["Sigmoid"],
    "Erf": ["Tanh"], "Sqrt": ["Exp"], "Sin": ["Cos"], "Cos": ["Sin"], "Sigmoid": ["Tanh"], "Reciprocal": ["Sqrt"],
    "Neg": ["Abs"], "And": ["Or"], "LessOrEqual": ["Less"], "Softmax": ["LogSoftmax"], "IsNaN": ["IsInf"],
    "ReduceMean": ["ReduceSum"],
}  # fmt: skip
ORDERED = ("Sub", "Div", "Pow", "MatMul", "LessOrEqual", "Where")


def computation_changes(program, locals_, rng):
    yield from claim_changes(program, locals_)
    yield from local_changes(program, rng)
    yield from frame_changes(program)


def claim_changes(program, locals_):
    """A value claims another sharding, at its definition and all uses: one that other values have."""
    known = {}
    for (dim, sharding), local in locals_.items():
        known.setdefault(dim, []).append((sharding, local))
    for at in program.ops:
        if at.raw is not None:
            continue
        for value, type in zip(at.values, at.outputs):
            if not type.startswith("tensor") or not program.uses(value):
                continue

            def claim(text, value=value):
                return lambda body: body.claim(value, text)

            tensor = Tensor.parse(type)
            axis = '"{}"={}'.format(*next(iter(program.mesh.items())))
            other = "" if tensor.partial else f"{{{axis}: sum}}"
            words = f"{value} {'not ' if tensor.partial else ''}partial"
            yield "claim", words, claim(str(replace(tensor, partial=other)))
            for d, (dim, sharding) in enumerate(zip(tensor.dims, tensor.sharding)):
                for new, local in known[dim]:
                    if new != sharding:
                        yield "claim", f"{value} dim {d} {new}", claim(str(tensor.with_dim(d, new, local)))
                if found := re.fullmatch(r'\((\d+):("[^,]*), (\d+)\)', sharding):
                    moved = f"({found[1]}, {found[3]}:{found[2]})"
                    yield "claim", f"{value} dim {d} {moved}", claim(str(tensor.with_dim(d, moved, tensor.local[d])))


def other_number(text):
    if re.fullmatch(r"-?\d+", text):
        return str(int(text) + 1)
    return f"{float(text) * 1.5 + 1:e}"


def local_changes(program, rng):
    """Changes of what a rank computes."""
    defined = {}  # type -> values so far
    for i, at in enumerate(program.ops):
        what = f"{at.name} {at.results}"
        if at.raw is None and not at.moves and not at.transfers:
            yield from changes_of_local(program, i, what, rng)
            for index, (operand, type) in enumerate(zip(at.operands, at.inputs)):
                if others := [value for value in defined.get(type, []) if value != operand]:
                    yield "operand", *wrong_operand(i, index, rng.choice(others), what)
        for value, type in zip(at.values, at.outputs):
            defined.setdefault(type, []).append(value)


def wrong_operand(i, index, other, what):
    def change(body):
        body.ops[i].operands[index] = other

    return f"{what} reads {other} as operand {index}", change


def changes_of_local(program, i, what, rng):
    at = program.ops[i]
    stem = at.name.removeprefix("onnx.")

    def rename(name):
        def change(body):
            body.ops[i].name = name

        return change

    def middle(new):
        def change(body):
            body.ops[i].middle = new

        return change

    def reorder(a, b):
        def change(body):
            op = body.ops[i]
            for values in (op.operands, op.inputs):
                values[a], values[b] = values[b], values[a]

        return change

    def bypass(body):
        op = body.ops.pop(i)
        body.use_instead(op.values[0], op.operands[0])

    def swap_results(body):
        names = dict(zip(at.values[:2], reversed(at.values[:2])))
        for op in body.ops[i + 1 :]:
            op.operands = [names.get(name, name) for name in op.operands]

    for other in OTHER_OPS.get(stem, []):
        yield "op", f"{what} as {other}", rename(f"onnx.{other}")
    if stem in ORDERED:
        a, b = (1, 2) if stem == "Where" else (0, 1)
        if at.operands[a] != at.operands[b]:
            yield "operand order", what, reorder(a, b)
    if len(at.operands) == 1 and at.inputs == at.outputs:
        yield "delete op", what, bypass
    if len(at.outputs) >= 2 and at.outputs[0] == at.outputs[1]:
        yield "operand order", f"{what}, results", swap_results
    if found := re.search(r"perm = array<i64: ([\d, ]+)>", at.middle):
        perm = found[1].split(", ")
        a, b = rng.sample(range(len(perm)), 2)
        perm[a], perm[b] = perm[b], perm[a]
        yield "attribute", f"{what} perm {perm}", middle(at.middle.replace(found[1], ", ".join(perm)))
    elif stem == "Gemm":
        new = at.middle or "{alpha = 2.000000e+00 : f32}"
        yield "attribute", f"{what} alpha", middle(new.replace("{", "{beta = 5.000000e-01 : f32, ", 1))
    else:
        text = re.sub(r'"[^"]*"', lambda quoted: "_" * len(quoted[0]), at.middle)
        number = r"(?<![\w.x-])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])(?!x)"
        if numbers := list(re.finditer(number, text)):
            found = rng.choice(numbers)
            new = at.middle[: found.start()] + other_number(found[0]) + at.middle[found.end() :]
            yield "attribute", f"{what} {found[0]} -> {other_number(found[0])}", middle(new)


def cache_changes(program):
    """What a session keeps, what callers hand in, and which requests a profile is for."""

    def header(old, new):
        def change(body):
            body.header = body.header.replace(old, new, 1)

        return change

    caches = re.findall(r"onnx.cache = \{[^}]*\}", program.header)

    def swap_caches(body):
        first, second = caches[:2]
        body.header = body.header.replace(first, "$", 1).replace(second, first, 1).replace("$", second, 1)

    if len(caches) > 1:
        yield "cache", "the first two swapped", swap_caches
    for cache in caches[:1]:
        kind = re.search(r'kind = "(\w+)"', cache)[1]
        other = "set" if kind == "append" else "append"
        yield "cache", f"{kind} becomes {other}", header(cache, cache.replace(f'"{kind}"', f'"{other}"'))
        yield "cache", "forgotten", header(cache, "onnx.other = 0 : i64")
    for given in re.findall(r"onnx.given = \w+", program.header)[:1]:
        yield "given", "as i32", header(given, "onnx.given = i32")
    for profile in re.findall(r'onnx.profile = "\w+"', program.header):
        yield "profile", "renamed", header(profile, 'onnx.profile = "other"')
    for size in re.findall(r"size = 1 : i64", program.header):
        yield "profile", "for another size", header(size, "size = 2 : i64")
    for batch in re.findall(r"dist.batch_inputs = array<i64: [\d, ]+>", program.header):
        yield "batch inputs", "none", header(batch, "dist.batch_inputs = array<i64>")


def frame_changes(program):
    """Guards, inputs, outputs."""
    for i, at in enumerate(program.ops):
        if at.name == "onnx.Guard":

            def delete(body, i=i):
                body.ops.pop(i)

            def loosen(body, i=i):
                body.ops[i].raw = re.sub(r"<\[(\d+)\]>", lambda m: f"<[{int(m[1]) + 1}]>", body.ops[i].raw)

            yield "guard", f"guard {i} deleted", delete
            yield "guard", f"guard {i} changed", loosen
        if at.name == "return":
            for j, op in enumerate(program.ops[:i]):
                if op.outputs == at.inputs[:1] and op.values != at.operands[:1]:

                    def other_result(body, i=i, j=j):
                        body.ops[i].operands[0] = body.ops[j].values[0]

                    yield "output", f"return {op.results}", other_result
    names = re.findall(r'onnx.name = "([^"]*)"', program.header)

    def swap_names(body):
        body.header = body.header.replace(f'"{names[0]}"', '"?"').replace(f'"{names[1]}"', f'"{names[0]}"')
        body.header = body.header.replace('"?"', f'"{names[1]}"')

    def swap_inputs(body):
        for op in body.ops:
            op.operands = [{"%arg0": "%arg1", "%arg1": "%arg0"}.get(name, name) for name in op.operands]

    def rename_output(body):
        head, arrow, results = body.header.partition(") -> ")
        body.header = head + arrow + re.sub(r'onnx.name = "\w+"', 'onnx.name = "other"', results)

    yield from cache_changes(program)
    if len(names) > 1:
        yield "input", f"names of {names[0]} and {names[1]} swapped", swap_names
        yield "input", f"{names[0]} and {names[1]} swapped", swap_inputs
    yield "output", "name changed", rename_output
