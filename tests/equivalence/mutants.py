"""Wrong variants of a partitioned module, made from its text: each mutant is one change by one kind of mistake.

A change is a function on the ops of a body. It applies to the program @stage0 alone, or alike to the program and to the
plan @stage0.sharded beside it: the partitioner turns each reshard into one collective, so that the n-th op of both
bodies is the same op.
"""

import copy
import random
import re
from dataclasses import dataclass, field

PAIRS = {"<": ">", "(": ")", "[": "]", "{": "}"}


def split(text, separator):
    """Parts of a text between separators outside brackets and quotes."""
    parts, depth, start, quoted, i = [], 0, 0, False, 0
    while i < len(text):
        if text[i] == '"':
            quoted = not quoted
        elif not quoted:
            if depth == 0 and text.startswith(separator, i):
                parts.append(text[start:i])
                i = start = i + len(separator)
                continue
            if text.startswith("->", i):
                i += 1
            elif text[i] in PAIRS:
                depth += 1
            elif text[i] in PAIRS.values():
                depth -= 1
        i += 1
    return parts + [text[start:]]


@dataclass
class Tensor:
    """tensor<?x64xf32, #dist.value<dims = [batch, 128], sharding = [{}, {"tp"=2}], local = [batch, 64]>>"""

    element: str
    dims: list
    sharding: list
    partial: str
    local: list | None

    @staticmethod
    def parse(text):
        shape, encoding = re.fullmatch(r"tensor<([^,]*), #dist.value<(.*)>>", text).groups()
        parts = {name: value for name, value in (part.split(" = ", 1) for part in split(encoding, ", "))}

        def entries(name):
            return [entry for entry in split(parts[name][1:-1], ", ") if entry]

        local = entries("local") if "local" in parts else None
        partial = parts.get("partial", "")
        return Tensor(shape.split("x")[-1], entries("dims"), entries("sharding"), partial, local)

    def __str__(self):
        sizes = self.dims if self.local is None else self.local
        shape = "".join(f"{size}x" if size.isdigit() else "?x" for size in sizes) + self.element
        partial = f", partial = {self.partial}" if self.partial else ""
        local = "" if self.local is None else f", local = [{', '.join(self.local)}]"
        lists = f"dims = [{', '.join(self.dims)}], sharding = [{', '.join(self.sharding)}]"
        return f"tensor<{shape}, #dist.value<{lists}{partial}{local}>>"

    def with_dim(self, d, sharding, local):
        other = copy.deepcopy(self)
        other.sharding[d] = sharding
        if other.local is not None:
            other.local[d] = local
        return other


@dataclass
class Op:
    results: str  # "%3", "%3:2" or ""
    name: str
    operands: list
    middle: str  # what stands between operands and types
    inputs: list  # types
    arrow: str
    outputs: list
    loc: str
    raw: str | None = None  # a line that is kept as it is

    @staticmethod
    def parse(line):
        match = re.fullmatch(r"    (?:(%\w+(?::\d+)?) = )?([\w.]+) ?(.*) (loc\(.*\))", line)
        results, name, body, loc = match.groups()
        parts = split(body, " : ")
        arrow = " to " if name == "dist.reshard" else " -> "
        types = split(parts[-1], arrow)
        if len(parts) == 1 or len(types) != 2 and name != "return":
            return Op(results or "", name, [], "", [], "", [], loc, line)
        operands, middle = re.fullmatch(r"((?:%[\w#]+(?:, )?)*)(.*)", " : ".join(parts[:-1])).groups()
        bare = [text[1:-1] if text.startswith("(") else text for text in types]
        lists = [split(text, ", ") if text else [] for text in bare]
        op = Op(results or "", name, [o for o in operands.split(", ") if o], middle, lists[0], arrow, [], loc)
        op.outputs = lists[1] if len(lists) == 2 else []
        assert str(op) == re.sub("  +", " ", line.strip()), f"{op} is not {line}"
        return op

    def __str__(self):
        if self.raw is not None:
            return self.raw.strip()
        left = f"{self.results} = {self.name}" if self.results else self.name
        words = [left, ", ".join(self.operands), self.middle.strip(), ":"]
        text = " ".join(word for word in words if word)
        if self.name == "return":
            return f"{text} {', '.join(self.inputs)} {self.loc}"
        if self.name.startswith("dist."):
            return f"{text} {self.inputs[0]}{self.arrow}{self.outputs[0]} {self.loc}"
        outputs = self.outputs[0] if len(self.outputs) == 1 else f"({', '.join(self.outputs)})"
        return f"{text} ({', '.join(self.inputs)}){self.arrow}{outputs} {self.loc}"

    @property
    def values(self):
        """Names of the results."""
        name, _, count = self.results.partition(":")
        return [f"{name}#{i}" for i in range(int(count))] if count else [name] if name else []

    @property
    def moves(self):
        """Whether it only changes where a value lives: a collective, a slice, a reshard."""
        return self.name.startswith("dist.")


@dataclass
class Body:
    header: str
    ops: list
    ways: int = 2  # ranks of the mesh's one axis

    @property
    def axis(self):
        return f'"tp"={self.ways}'

    def uses(self, value, after=-1):
        return [(op, i) for op in self.ops[after + 1 :] for i, used in enumerate(op.operands) if used == value]

    def use_instead(self, old, new, type=None, after=-1):
        for op, i in self.uses(old, after):
            op.operands[i] = new
            if type:
                op.inputs[i] = type

    def claim(self, value, type):
        """Says at its definition and all uses that a value is of that type."""
        for op in self.ops:
            for i, name in enumerate(op.values):
                if name == value:
                    op.outputs[i] = type
        for op, i in self.uses(value):
            op.inputs[i] = type

    def __str__(self):
        return "\n".join([self.header] + [f"    {op}" for op in self.ops])


@dataclass
class Module:
    lines: list
    bodies: list = field(default_factory=list)  # program, plan; each stands for one entry None in lines

    @staticmethod
    def parse(text):
        module, body = Module([]), None
        ways = int(re.search(r'dist.mesh @mesh <\["tp"=(\d+)\]>', text)[1])
        for line in text.splitlines():
            if line.startswith("  func.func "):
                body = Body(line, [], ways)
                module.bodies.append(body)
                module.lines.append(None)
            elif line.startswith("  }"):
                body = None
                module.lines.append(line)
            elif body is not None:
                body.ops.append(Op.parse(line))
            else:
                module.lines.append(line)
        program, plan = module.bodies
        assert [op.moves or op.name for op in program.ops] == [op.moves or op.name for op in plan.ops]
        return module

    def __str__(self):
        bodies = iter(self.bodies)
        return "\n".join(str(next(bodies)) if line is None else line for line in self.lines) + "\n"


@dataclass
class Mutant:
    kind: str
    what: str
    text: str


OTHER_OPS = {
    "Add": ["Sub", "Mul"], "Sub": ["Add"], "Mul": ["Add", "Div"], "Div": ["Mul"], "Pow": ["Mul"], "Tanh": ["Sigmoid"],
    "Erf": ["Tanh"], "Sqrt": ["Exp"], "Sin": ["Cos"], "Cos": ["Sin"], "Sigmoid": ["Tanh"], "Reciprocal": ["Sqrt"],
    "Neg": ["Abs"], "And": ["Or"], "LessOrEqual": ["Less"], "Softmax": ["LogSoftmax"], "IsNaN": ["IsInf"],
    "ReduceMean": ["ReduceSum"],
}  # fmt: skip
ORDERED = ("Sub", "Div", "Pow", "MatMul", "LessOrEqual", "Where")


def collective_changes(program):
    """Changes of ops that move values; each is (kind, what, change)."""
    moves = [i for i, op in enumerate(program.ops) if op.moves]
    for n, i in enumerate(moves):
        yield from changes_of_collective(program, i)
        for j in moves[n + 1 :]:
            if program.ops[i].inputs == program.ops[j].inputs and program.ops[i].outputs == program.ops[j].outputs:
                yield from changes_of_two(program, i, j)


def changes_of_collective(program, i):
    at = program.ops[i]
    what = f"{at.name} {at.results}"
    [result], [operand] = at.values, at.operands

    def delete(body):
        op = body.ops.pop(i)
        body.use_instead(result, operand, op.inputs[0])

    def delete_and_claim(body):
        op = body.ops.pop(i)
        body.claim(operand, op.outputs[0])
        body.use_instead(result, operand)

    def insert_copy(body, **changes):
        body.ops.insert(i + 1, copy.deepcopy(body.ops[i]))
        for name, value in changes.items():
            setattr(body.ops[i + 1], name, value)

    def duplicate(body):
        insert_copy(body, results="%twin")

    def share(body):
        insert_copy(body, results="%twin")
        op, index = body.uses(result)[-1]
        op.operands[index] = "%twin"

    def repeat(body):
        insert_copy(body, results="%twin", operands=[result], inputs=body.ops[i].outputs)
        body.use_instead(result, "%twin", after=i + 1)

    yield "delete", what, delete
    yield "delete", f"{what}, its operand claims its type", delete_and_claim
    yield "duplicate", f"{what}, unused", duplicate
    yield "duplicate", f"{what}, shared by users", share
    yield "duplicate", f"{what}, twice in a row", repeat

    def middle(old, new):
        def change(body):
            body.ops[i].middle = body.ops[i].middle.replace(old, new, 1)

        return change

    def middle_and_claims(old, new):
        def change(body):
            middle(old, new)(body)
            body.claim(operand, body.ops[i].inputs[0].replace(old.strip('"'), new.strip('"')))
            body.claim(result, body.ops[i].outputs[0].replace(old.strip('"'), new.strip('"')))

        return change

    axis, ways = program.axis, program.ways
    parts = [f'"tp"={ways // 2}', f'"tp":({ways // 2})2'] if ways > 2 else ['"tp"=1']
    for new in (f'"xp"={ways}', f'"tp"={2 * ways}', f'"tp":(2){ways}', *parts):
        kind = "axis" if "xp" in new else "group"
        if "<[" in at.middle:
            yield kind, f"{what} over {new}", middle(axis, new)
        yield kind, f"{what} over {new}, so its types", middle_and_claims(axis, new)
    if "<[" in at.middle:
        yield "group", f"{what} over no axes", middle(axis, "")
        yield "group", f"{what} over the axis twice", middle(axis, f"{axis}, {axis}")
    for new in ("max", "min"):
        if '"sum"' in at.middle:
            yield "reduce kind", f"{what} by {new}", middle('"sum"', f'"{new}"')
            yield "reduce kind", f"{what} by {new}, so its types", middle_and_claims('"sum"', f'"{new}"')
    if found := re.search(r"dim (\d+)", at.middle):
        for new in {0, 1, 2, 3} - {int(found[1])}:
            yield "dim", f"{what} of dim {new}", middle(found[0], f"dim {new}")

    def become(name, middle):
        def change(body):
            body.ops[i].name, body.ops[i].middle = name, middle

        return change

    others = {
        "dist.all_reduce": f'over <[{axis}]> "sum"', "dist.all_gather": f"dim 0 over <[{axis}]>", "dist.slice": "",
        "dist.once": f"over <[{axis}]>", "dist.reduce_scatter": f'dim 1 over <[{axis}]> "sum"',
        "dist.all_to_all": f"dim 0 to 1 over <[{axis}]>",
    }  # fmt: skip
    for name, middle_text in others.items():
        if name != at.name and at.name != "dist.reshard":
            yield "op kind", f"{what} as {name}", become(name, middle_text)


def changes_of_two(program, i, j):
    first, second = program.ops[i], program.ops[j]
    what = f"{first.name} {first.results} and {second.results}"

    def same_operand(body):
        body.ops[j].operands = list(body.ops[i].operands)

    def swap_results(body):
        for op in body.ops[j + 1 :]:
            names = {first.results: second.results, second.results: first.results}
            op.operands = [names.get(name, name) for name in op.operands]

    yield "swap", f"{what} read the same operand", same_operand
    yield "swap", f"{what}: users swap them", swap_results


def split_last(type, ways):
    """The type with its last dim split over all ranks; None where that is not whole or does not divide."""
    tensor = Tensor.parse(type)
    if not tensor.dims or tensor.partial or "tp" in type:
        return None
    size = tensor.dims[-1]
    if not size.isdigit() or int(size) % ways:
        return None
    return str(tensor.with_dim(-1, f'{{"tp"={ways}}}', str(int(size) // ways)))


def extra_collectives(program):
    """More collectives than the plan has; some of these compute the same."""
    for i, at in enumerate(program.ops):
        if len(at.outputs) != 1 or at.raw or not at.outputs[0].startswith("tensor"):
            continue
        [value], [type] = at.values, at.outputs
        tensor = Tensor.parse(type)
        if at.moves or "tp" in type or not program.uses(value):
            continue

        def insert(*new, i=i, value=value, type=type):
            def change(body):
                ops = [Op(*op, at.loc) for op in new]
                body.use_instead(value, "%last", ops[-1].outputs[0], after=i)
                body.ops[i + 1 : i + 1] = ops

            return change

        partial = copy.deepcopy(tensor)
        partial.partial = f"{{{program.axis}: sum}}"
        reduce = ("dist.all_reduce", f'over <[{program.axis}]> "sum"')
        once = ("dist.once", f"over <[{program.axis}]>")
        arrow = " -> "
        yield "count", f"all_reduce of whole {value}", insert(
            ("%last", reduce[0], [value], reduce[1], [type], arrow, [type])
        )
        yield "count", f"once of {value}", insert(("%last", once[0], [value], once[1], [type], arrow, [str(partial)]))
        if tensor.element == "f32":
            yield "count", f"once and all_reduce of {value}", insert(
                ("%part", once[0], [value], once[1], [type], arrow, [str(partial)]),
                ("%last", reduce[0], ["%part"], reduce[1], [str(partial)], arrow, [type]),
            )
        if half := split_last(type, program.ways):
            gather = f"dim {len(tensor.dims) - 1} over <[{program.axis}]>"
            yield "count", f"slice of {value}", insert(("%last", "dist.slice", [value], "", [type], arrow, [half]))
            yield "count", f"slice and all_gather of {value}", insert(
                ("%part", "dist.slice", [value], "", [type], arrow, [half]),
                ("%last", "dist.all_gather", ["%part"], gather, [half], arrow, [type]),
            )


def claim_changes(program):
    """A value claims another sharding, at its definition and all uses."""
    for at in program.ops:
        if at.raw:
            continue
        for value, type in zip(at.values, at.outputs):
            if not type.startswith("tensor") or not program.uses(value):
                continue

            def claim(text, value=value):
                return lambda body: body.claim(value, text)

            tensor = Tensor.parse(type)
            other = copy.deepcopy(tensor)
            other.partial = "" if tensor.partial else f"{{{program.axis}: sum}}"
            yield "claim", f"{value} {'not ' if tensor.partial else ''}partial", claim(str(other))
            for d, sharding in enumerate(tensor.sharding):
                if "tp" in sharding:
                    yield "claim", f"{value} dim {d} whole", claim(str(tensor.with_dim(d, "{}", tensor.dims[d])))
                if found := re.fullmatch(r'\((\d+):("tp"[^,]*), (\d+)\)', sharding):
                    moved = f"({found[1]}, {found[3]}:{found[2]})"
                    yield "claim", f"{value} dim {d} {moved}", claim(str(tensor.with_dim(d, moved, tensor.local[d])))
            if half := split_last(type, program.ways):
                yield "claim", f"{value} split", claim(half)


def other_number(text):
    if re.fullmatch(r"-?\d+", text):
        return str(int(text) + 1)
    return f"{float(text) * 1.5 + 1:e}"


def local_changes(program, rng):
    """Changes of what a rank computes."""
    defined = {}  # type -> values so far
    for i, at in enumerate(program.ops):
        what = f"{at.name} {at.results}"
        if at.raw is None and not at.moves:
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
                if op.outputs == at.inputs[:1]:

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

    if len(names) > 1:
        yield "input", f"names of {names[0]} and {names[1]} swapped", swap_names
        yield "input", f"{names[0]} and {names[1]} swapped", swap_inputs
    yield "output", "name changed", rename_output


def all_mutants(text, seed):
    """Every mutant of a module, by kind, each kind shuffled."""
    module, rng = Module.parse(text), random.Random(seed)
    program = module.bodies[0]
    changes = [
        *collective_changes(program), *extra_collectives(program), *claim_changes(program),
        *local_changes(program, rng), *frame_changes(program),
    ]  # fmt: skip
    kinds = {}
    for kind, what, change in changes:
        for both in (False, True):
            if both and kind in ("count", "claim", "op kind"):
                continue  # types and ops of the program alone
            kinds.setdefault(kind + (", plan too" if both else ""), []).append((what, change, both))
    for entries in kinds.values():
        rng.shuffle(entries)
    return module, kinds


def choose(text, count, seed):
    """So many mutants, of all kinds in turn."""
    module, kinds = all_mutants(text, seed)
    chosen = 0
    while chosen < count and any(kinds.values()):
        for kind, entries in kinds.items():
            if not entries or chosen == count:
                continue
            what, change, both = entries.pop()
            mutant = copy.deepcopy(module)
            for body in mutant.bodies[: 2 if both else 1]:
                change(body)
            if str(mutant) != str(module):
                chosen += 1
                yield Mutant(kind, what, str(mutant))
