"""Wrong variants of a lowered module, made from its text: each is one instruction that is changed.

Kinds: operands (two of a call are swapped, or one is another view), results (two are swapped), window (its offset, a stride), size (of a dim, of a
buffer), kernel, config (a number a kernel is told), untold (an entry that is left out), group (the axes of a collective), collective (what it is told),
buffer (what an instruction writes or reads), order (an instruction and the one that reads what it writes).
"""

import random
import re
from dataclasses import dataclass

from tests.equivalence.mutants.choice import Mutant
from tests.equivalence.mutants.text import split

VIEW = re.compile(r"    (%\w+) = rt\.view (%\w+) : (<.*>) (loc\(.*\))$")
CALL = re.compile(r'    rt\.call "(\w+)"\((.*?)\) into\((.*?)\) (\{.*) (loc\(.*\))$')
COLLECTIVE = re.compile(r'    rt\.collective "(\w+)" (%\w+)(?: by (%\w+) : !rt\.view(<.*?>))? into (%\w+) over (<.*?\]>) (.*) : (.*) (loc\(.*\))$')
ANOTHER_KERNEL = {"Add": "Sub", "Mul": "Add", "Sub": "Add", "Div": "Mul", "MatMul": "Mul", "Sigmoid": "Tanh", "Softmax": "LogSoftmax",
                  "ReduceSum": "ReduceMax", "Equal": "Less", "And": "Or", "Greater": "Less", "Cos": "Sin", "Sin": "Cos"}  # fmt: skip


@dataclass
class View:
    buffer: str
    text: str  # <element, [dims], [strides], offset[, replicated]>

    @property
    def parts(self):
        return split(self.text[1:-1], ", ")

    def changed(self, part, entry, change):
        parts = self.parts
        if entry is None:
            parts[part] = change(parts[part])
        else:
            entries = split(parts[part][1:-1], ", ")
            entries[entry] = change(entries[entry])
            parts[part] = f"[{', '.join(entries)}]"
        return View(self.buffer, f"<{', '.join(parts)}>")


@dataclass
class Instruction:
    """A call, or a collective: what is read, then what is written."""

    line: int
    operands: list
    num_inputs: int
    print: object  # of operands and their types

    def with_operand(self, number, name, text, types):
        operands, types = [*self.operands], [*types]
        operands[number], types[number] = name, text
        return self.print(operands, types)


class Lowered:
    def __init__(self, text):
        self.lines = text.split("\n")
        self.views, self.line_of, self.instructions, self.allocs = {}, {}, [], []
        first = next(i for i, line in enumerate(self.lines) if line.startswith("  rt.program"))
        for i in range(first, len(self.lines)):
            line = self.lines[i]
            if line.startswith("  func.func"):
                break
            if line.startswith("  rt.program"):
                self.views = {**self.views}
            if match := VIEW.match(line):
                name, buffer, type, _ = match.groups()
                self.views[i, name] = View(buffer, type)
                self.line_of[name] = i
            elif match := CALL.match(line):
                self.add_call(i, match)
            elif match := COLLECTIVE.match(line):
                self.add_collective(i, match)
            elif re.match(r"    %\w+ = rt\.alloc", line):
                self.allocs.append(i)

    def view(self, name):
        return self.views.get((self.line_of.get(name), name))

    def add_call(self, i, match):
        kernel, inputs, outputs, rest, loc = match.groups()
        lists = [split(text, " : ") if text else ["", ""] for text in (inputs, outputs)]
        names = [[n for n in names.split(", ") if n] for names, _ in lists]

        def text(operands, types, kernel=kernel, rest=rest):
            count = len(names[0])
            halves = [
                f"{', '.join(o)} : {', '.join(t)}" if o else ""
                for o, t in ((operands[:count], types[:count]), (operands[count:], types[count:]))
            ]
            return f'    rt.call "{kernel}"({halves[0]}) into({halves[1]}) {rest} {loc}'

        instruction = Instruction(i, [*names[0], *names[1]], len(names[0]), text)
        instruction.types = [t for _, types in lists for t in split(types, ", ") if t]
        instruction.kernel, instruction.rest, instruction.prefix = kernel, rest, "!rt.view"
        self.instructions.append(instruction)

    def add_collective(self, i, match):
        kernel, source, choices, choices_type, target, axes, rest, types, loc = match.groups()

        def text(operands, types, kernel=kernel, axes=axes, rest=rest):
            by = f" by {operands[1]} : !rt.view{types[1]}" if choices else ""
            return (
                f'    rt.collective "{kernel}" {operands[0]}{by} into {operands[-1]} over {axes} {rest} : '
                f"{types[0]} -> {types[-1]} {loc}"
            )

        first, last = split(types, " -> ")
        operands = [source, choices, target] if choices else [source, target]
        instruction = Instruction(i, operands, len(operands) - 1, text)
        instruction.types = [first, choices_type, last] if choices else [first, last]
        instruction.kernel, instruction.rest, instruction.prefix, instruction.axes = kernel, rest, "", axes
        self.instructions.append(instruction)

    def replaced(self, instruction, line, before=()):
        lines = [*self.lines]
        lines[instruction.line : instruction.line + 1] = [*before, line]
        return "\n".join(lines)

    def with_view(self, instruction, number, view):
        """The operand is a view of its own."""
        made = f"    %mutant = rt.view {view.buffer} : {view.text} loc(unknown)"
        line = instruction.with_operand(number, "%mutant", instruction.prefix + view.text, instruction.types)
        return self.replaced(instruction, line, [made])


def plus_one(size):
    return f"{size} + 1"


def window_changes(module, instruction, number, view, rng):
    rank = len(split(view.parts[1][1:-1], ", ")) if view.parts[1] != "[]" else 0
    strides = split(view.parts[2][1:-1], ", ") if rank else []
    shift = rng.choice([stride for stride in strides if stride != "0"] or ["1"])
    yield "window", "offset", lambda: module.with_view(instruction, number, view.changed(3, None, lambda o: f"{o} + {shift}"))
    if rank:
        d = rng.randrange(rank)
        yield "window", f"stride {d}", lambda: module.with_view(instruction, number, view.changed(2, d, plus_one))
        yield "size", f"dim {d}", lambda: module.with_view(instruction, number, view.changed(1, d, plus_one))


def operand_changes(module, instruction, number, view, rng):
    others = [
        (name, other)
        for (line, name), other in module.views.items()
        if line < instruction.line and other.text == view.text and other.buffer != view.buffer
    ]
    if others:
        name, _ = rng.choice(others)
        kind = "buffer" if number >= instruction.num_inputs else "operands"
        line = instruction.with_operand(number, name, instruction.types[number], instruction.types)
        yield kind, f"{name} instead", lambda: module.replaced(instruction, line)


def swaps(module, instruction, rng):
    for kind, first, last in (
        ("operands", 0, instruction.num_inputs),
        ("results", instruction.num_inputs, len(instruction.operands)),
    ):
        places = [i for i in range(first, last) if instruction.types[i] != "none"]
        if len(places) > 1:
            a, b = rng.sample(places, 2)
            operands, types = [*instruction.operands], [*instruction.types]
            operands[a], operands[b], types[a], types[b] = operands[b], operands[a], types[b], types[a]
            yield kind, f"{a} and {b} swapped", lambda o=operands, t=types: module.replaced(instruction, instruction.print(o, t))


def config_entries(config):
    """Of a call."""
    config = config.strip()
    return [entry for entry in split(config[1:-1], ", ") if entry] if config.startswith("{") and config.endswith("}") else []


def config_and_members(instruction):
    return re.fullmatch(r"(.*?)((?:\{rt\.members|, why = ).*|)", instruction.rest).groups()


def without_entry(module, instruction, number):
    config, members = config_and_members(instruction)
    entries = config_entries(config)
    less = f"{{{', '.join(entries[:number] + entries[number + 1 :])}}} {members}".rstrip()
    return module.replaced(instruction, instruction.print(instruction.operands, instruction.types, rest=less))


def every_untold(text):
    """Each entry of each kernel is left out once."""
    module, seen = Lowered(text), set()
    for instruction in module.instructions:
        entries = config_entries(config_and_members(instruction)[0]) if instruction.prefix else []
        for number, entry in enumerate(entries):
            what = f"{instruction.kernel}: {entry.split(' = ')[0]}"
            if what not in seen:
                seen.add(what)
                yield Mutant("untold", what, without_entry(module, instruction, number))


def every_size_set(text):
    """Each size that a body of control flow sets is one more, once."""
    module = Lowered(text)
    for number, line in enumerate(module.lines):
        if match := re.match(r"(    rt\.set_sizes <.*> = <\[)(.*?)([],].*)", line):
            lines = [*module.lines]
            lines[number] = f"{match[1]}{match[2]} + 1{match[3]}"
            yield Mutant("size set", line.strip()[:60], "\n".join(lines))


def told_changes(module, instruction, rng):
    """What a kernel or collective is told."""
    same = (instruction.operands, instruction.types)
    if other := ANOTHER_KERNEL.get(instruction.kernel):
        yield "kernel", other, lambda: module.replaced(instruction, instruction.print(*same, kernel=other))
    config, members = config_and_members(instruction)
    numbers = [*re.finditer(r"(?<![\w.\"-])\d+(?![\w.\"])", config)]
    numbers = [n for n in numbers if not config[: n.start()].endswith((": i", "e+", "e-", "flight = "))]
    if numbers:
        n = rng.choice(numbers)
        changed = f"{config[: n.start()]}{int(n[0]) + 1}{config[n.end() :]}{members}"
        kind = "collective" if hasattr(instruction, "axes") else "config"
        yield kind, f"{n[0]} at {n.start()} of {config}"[:200], lambda: module.replaced(instruction, instruction.print(*same, rest=changed))
    if instruction.prefix and (entries := config_entries(config)):
        e = rng.randrange(len(entries))
        yield "untold", entries[e][:200], lambda: without_entry(module, instruction, e)
    for wrong in ('<["ep"=2]>', '<["tp"=2]>', '<["cp"=2]>'):
        if hasattr(instruction, "axes") and wrong != instruction.axes:
            yield "group", wrong, lambda w=wrong: module.replaced(instruction, instruction.print(*same, axes=w))
    if hasattr(instruction, "axes") and '"sum"' in instruction.rest:
        most = instruction.rest.replace('"sum"', '"max"', 1)
        yield "collective", "max", lambda: module.replaced(instruction, instruction.print(*same, rest=most))


def later(module, instruction, other):
    lines = [*module.lines]
    line = lines.pop(instruction.line)
    lines.insert(other.line, line)
    return "\n".join(lines)


def order_changes(module, instruction):
    """Behind the first that reads what it writes."""
    written = {module.view(o).buffer for o in instruction.operands[instruction.num_inputs :] if module.view(o)}
    for other in module.instructions:
        read = {module.view(o).buffer for o in other.operands[: other.num_inputs] if module.view(o)}
        if other.line > instruction.line and read & written:
            yield "order", f"behind line {other.line}", lambda o=other: later(module, instruction, o)
            return


def buffer_sizes(module):
    for i in module.allocs:
        less = re.sub(r"<\[(.*)\]>", r"<[(\1) floordiv 2]>", module.lines[i], count=1)
        yield "size", f"half of the buffer in line {i}", lambda i=i, less=less: "\n".join([*module.lines[:i], less, *module.lines[i + 1 :]])


def choose_lowered(text, count, seed):
    """So many mutants, of all kinds in turn."""
    module, rng = Lowered(text), random.Random(seed)
    kinds = {}

    def add(changes, where=""):
        for kind, what, change in changes:
            kinds.setdefault(kind, []).append((f"{where}{what}", change))

    for instruction in module.instructions:
        where = f"line {instruction.line} {instruction.kernel}: "
        add(swaps(module, instruction, rng), where)
        add(told_changes(module, instruction, rng), where)
        add(order_changes(module, instruction), where)
        for number, name in enumerate(instruction.operands):
            if view := module.view(name):
                add(window_changes(module, instruction, number, view, rng), f"{where}operand {number} ")
                add(operand_changes(module, instruction, number, view, rng), f"{where}operand {number} ")
    add(buffer_sizes(module))
    for entries in kinds.values():
        rng.shuffle(entries)
    chosen = 0
    while chosen < count and any(kinds.values()):
        for kind, entries in kinds.items():
            if entries and chosen < count:
                what, change = entries.pop()
                chosen += 1
                yield Mutant(kind, what, change())
