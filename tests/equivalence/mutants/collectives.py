"""Wrong collectives: each is (kind, what, change), a change of one program's body.

Kinds: delete, duplicate, reorder, axis, group, count, dim, reduce kind, op kind.
"""

import re
from dataclasses import replace

from tests.equivalence.mutants.text import Op, Tensor

ARROW = " -> "


def collective_changes(program, locals_):
    moves = [i for i, op in enumerate(program.ops) if op.moves]
    for n, i in enumerate(moves):
        yield from changes_of_presence(program, i)
        yield from changes_of_axes(program, i, locals_)
        yield from changes_of_attributes(program, i)
        yield from changes_of_order(program, i)
        for j in moves[n + 1 :]:
            if program.ops[i].inputs == program.ops[j].inputs and program.ops[i].outputs == program.ops[j].outputs:
                yield from changes_of_two(program, i, j)
    yield from extra_collectives(program, locals_)


def name_of(op):
    return f"{op.name} {op.results}"


def changes_of_presence(program, i):
    at = program.ops[i]
    what = name_of(at)
    [result], [operand] = at.values, at.operands

    def delete(body):
        op = body.ops.pop(i)
        body.use_instead(result, operand, op.inputs[0])

    def delete_and_claim(body):
        op = body.ops.pop(i)
        body.claim(operand, op.outputs[0])
        body.use_instead(result, operand)

    def insert_copy(body, **changes):
        body.ops.insert(i + 1, replace(body.ops[i].copy(), **changes))

    def duplicate(body):
        insert_copy(body, results="%twin")

    def share(body):
        insert_copy(body, results="%twin")
        op, index = body.uses(result)[-1]
        op.operands[index] = "%twin"

    def repeat(body):
        insert_copy(body, results="%twin", operands=[result], inputs=[*body.ops[i].outputs])
        body.use_instead(result, "%twin", after=i + 1)

    yield "delete", what, delete
    yield "delete", f"{what}, its operand claims its type", delete_and_claim
    yield "duplicate", f"{what}, unused", duplicate
    if program.uses(result):
        yield "duplicate", f"{what}, shared by users", share
        yield "duplicate", f"{what}, twice in a row", repeat


def other_axes(program, axis):
    """(kind, axis) for an axis `"tp"=4` or `"tp":(1)2`: other axes of the mesh, parts of it, ways it has not."""
    name = re.match(r'"(\w+)"', axis)[1]
    ways = program.mesh.get(name, 1)
    for other, others in program.mesh.items():
        if other != name:
            yield "axis", f'"{other}"={others}'
    yield "axis", f'"xp"={ways}'
    parts = [f'"{name}"={ways // 2}', f'"{name}":({ways // 2})2'] if ways > 2 else [f'"{name}"=1']
    for part in (f'"{name}"={2 * ways}', f'"{name}":(2){ways}', *parts):
        yield "group", part


def renamed(type, old, new, locals_):
    """The type split over, or partial over, another axis."""
    tensor = Tensor.parse(type)
    names = ["@" + re.match(r'"(\w+)"', axis)[1] for axis in (old, new)]
    sharding = tuple(entry.replace(old, new) for entry in tensor.sharding)
    local = tensor.local and tuple(
        size if before == after else locals_.get((dim, after), size.replace(*names))
        for dim, before, after, size in zip(tensor.dims, tensor.sharding, sharding, tensor.local)
    )
    return str(replace(tensor, sharding=sharding, partial=tensor.partial.replace(old, new), local=local))


def changes_of_axes(program, i, locals_):
    at = program.ops[i]
    what = name_of(at)
    [result], [operand] = at.values, at.operands
    found = re.search(r"<\[(.*?)\]>", at.middle)
    axes = re.findall(r'"\w+"(?:=\d+|:\(\d+\)\d+)', found[1]) if found else []
    if not axes:  # a slice: the axes that its result adds
        added = set(re.findall(r'"\w+"=\d+', at.outputs[0])) - set(re.findall(r'"\w+"=\d+', at.inputs[0]))
        axes = sorted(added)

    def over(text):
        def change(body):
            body.ops[i].middle = at.middle.replace(found[0], f"<[{text}]>", 1)

        return change

    def and_claims(old, new):
        """The operand, which is split by the old axis, claims to be split by the new one; so does the result."""

        def change(body):
            op = body.ops[i]
            op.middle = op.middle.replace(old, new, 1)
            output = renamed(op.outputs[0], old, new, locals_)
            body.claim(operand, renamed(op.inputs[0], old, new, locals_))
            body.claim(result, output)

        return change

    for axis in axes:
        for kind, new in other_axes(program, axis):
            if new == axis:
                continue
            if found:
                yield kind, f"{what} over {new}", over(found[1].replace(axis, new, 1))
            yield kind, f"{what} over {new}, so its types", and_claims(axis, new)
    if found:
        yield "group", f"{what} over no axes", over("")
        yield "group", f"{what} over an axis twice", over(f"{found[1]}, {axes[0]}")
        for axis in axes[1:]:
            yield "group", f"{what} without {axis}", over(", ".join(a for a in axes if a != axis))
        if len(axes) > 1:
            yield "group", f"{what}, axes reversed", over(", ".join(reversed(axes)))
        for name, ways in program.mesh.items():
            if f'"{name}"' not in found[1]:
                yield "group", f"{what} over {name} too", over(f'{found[1]}, "{name}"={ways}')


def changes_of_attributes(program, i):
    at = program.ops[i]
    what = name_of(at)
    [result], [operand] = at.values, at.operands
    plain = re.sub(r"\{why.*\}$", lambda why: " " * len(why[0]), at.middle)

    def middle(start, end, new):
        def change(body):
            body.ops[i].middle = at.middle[:start] + new + at.middle[end:]

        return change

    def kind_and_claims(start, end, old, new):
        def change(body):
            middle(start, end, f'"{new}"')(body)
            op = body.ops[i]
            output = op.outputs[0].replace(f": {old}", f": {new}")
            body.claim(operand, op.inputs[0].replace(f": {old}", f": {new}"))
            body.claim(result, output)

        return change

    for found in re.finditer(r'"(sum|max|min)"', plain):
        for new in {"sum", "max", "min"} - {found[1]}:
            yield "reduce kind", f"{what} by {new}", middle(*found.span(), f'"{new}"')
            yield "reduce kind", f"{what} by {new}, so its types", kind_and_claims(*found.span(), found[1], new)
    for found in re.finditer(r"(?<![\w=:(])\d+(?![\w)\]])", plain):
        for new in {0, 1, 2, 3} - {int(found[0])}:
            yield "dim", f"{what}: {found[0]} is {new}", middle(*found.span(), str(new))

    def become(name, middle):
        def change(body):
            body.ops[i].name, body.ops[i].middle = name, middle

        return change

    axes = re.search(r"<\[.*?\]>", at.middle)
    axes = axes[0] if axes else f'<["{next(iter(program.mesh))}"={next(iter(program.mesh.values()))}]>'
    others = {
        "dist.all_reduce": f'over {axes} "sum"', "dist.all_gather": f"dim 0 over {axes}", "dist.slice": "",
        "dist.once": f"over {axes}", "dist.reduce_scatter": f'dim 1 over {axes} "sum"',
        "dist.all_to_all": f"dim 0 to 1 over {axes}",
    }  # fmt: skip
    for name, text in others.items():
        if name != at.name and at.name != "dist.reshard":
            yield "op kind", f"{what} as {name}", become(name, text)


def changes_of_order(program, i):
    """Moves a collective as early or as late as its operand and its users allow: the same on every rank, so allowed."""
    at = program.ops[i]

    def touches(op, values):
        return bool(set(op.operands) & values) or (
            op.raw is not None and any(re.search(rf"{re.escape(v)}(?![\w#])", op.raw) for v in values)
        )

    early = i
    while early > 0 and not set(program.ops[early - 1].values) & set(at.operands):
        early -= 1
    late = i
    while late + 1 < len(program.ops) - 1 and not touches(program.ops[late + 1], set(at.values)):
        late += 1

    def move(to):
        def change(body):
            body.ops.insert(to, body.ops.pop(i))

        return change

    if early < i:
        yield "reorder", f"{name_of(at)} moved up by {i - early}", move(early)
    if late > i:
        yield "reorder", f"{name_of(at)} moved down by {late - i}", move(late)


def changes_of_two(program, i, j):
    first, second = program.ops[i], program.ops[j]
    what = f"{first.name} {first.results} and {second.results}"

    def same_operand(body):
        body.ops[j].operands = list(body.ops[i].operands)

    def swap_results(body):
        names = {first.results: second.results, second.results: first.results}
        for op in body.ops[j + 1 :]:
            op.operands = [names.get(name, name) for name in op.operands]

    yield "reorder", f"{what} read the same operand", same_operand
    yield "reorder", f"{what}: users swap them", swap_results


def splits_of(tensor, mesh, locals_):
    """(axis, type) for each way to split the last dim of a whole value that other values of the program use too."""
    if not tensor.dims or tensor.partial or tensor.is_split:
        return
    size = tensor.dims[-1]
    for name, ways in mesh.items():
        axis = f'"{name}"={ways}'
        local = locals_.get((size, f"{{{axis}}}"))
        if local is None and size.isdigit() and int(size) % ways == 0:
            local = str(int(size) // ways)
        if local is not None:
            yield axis, str(tensor.with_dim(-1 % len(tensor.dims), f"{{{axis}}}", local))


def extra_collectives(program, locals_):
    """More collectives than the plan has; some of these compute the same."""
    for i, at in enumerate(program.ops):
        if len(at.outputs) != 1 or at.raw or not at.outputs[0].startswith("tensor") or not at.values:
            continue
        [value], [type] = at.values, at.outputs
        tensor = Tensor.parse(type)
        if at.moves or tensor.is_split or tensor.partial or not program.uses(value, after=i):
            continue

        def insert(*new, i=i, value=value):
            def change(body):
                ops = [Op(*op, body.ops[i].loc) for op in new]
                body.use_instead(value, "%last", ops[-1].outputs[0], after=i)
                body.ops[i + 1 : i + 1] = ops

            return change

        for name, ways in program.mesh.items():
            axis = f'"{name}"={ways}'
            partial = str(replace(tensor, partial=f"{{{axis}: sum}}"))
            reduce = ("dist.all_reduce", f'over <[{axis}]> "sum"')
            once = ("dist.once", f"over <[{axis}]>")
            yield "count", f"all_reduce of whole {value} over {name}", insert(
                ("%last", reduce[0], [value], reduce[1], [type], ARROW, [type])
            )
            yield "count", f"once of {value} over {name}", insert(
                ("%last", once[0], [value], once[1], [type], ARROW, [partial])
            )
            if tensor.element in ("f32", "f64"):
                yield "count", f"once and all_reduce of {value} over {name}", insert(
                    ("%part", once[0], [value], once[1], [type], ARROW, [partial]),
                    ("%last", reduce[0], ["%part"], reduce[1], [partial], ARROW, [type]),
                )
        for axis, half in splits_of(tensor, program.mesh, locals_):
            gather = f"dim {len(tensor.dims) - 1} over <[{axis}]>"
            yield "count", f"slice of {value} over {axis}", insert(
                ("%last", "dist.slice", [value], "", [type], ARROW, [half])
            )
            yield "count", f"slice and all_gather of {value} over {axis}", insert(
                ("%part", "dist.slice", [value], "", [type], ARROW, [half]),
                ("%last", "dist.all_gather", ["%part"], gather, [half], ARROW, [type]),
            )
