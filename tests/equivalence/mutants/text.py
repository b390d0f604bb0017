"""A partitioned module as text: its programs, their ops and types, which print as they were read.

A module has a pair of functions for each stage of each profile: the program @stage0 and the plan @stage0.sharded that it
must keep to.
"""

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

PAIRS = {"<": ">", "(": ")", "[": "]", "{": "}"}
VALUE = r"%[\w#]+"


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


@dataclass(frozen=True)
class Tensor:
    """tensor<?x64xf32, #dist.value<dims = [batch, 128], sharding = [{}, {"tp"=2}], local = [batch, 64]>>"""

    element: str
    dims: tuple
    sharding: tuple
    partial: str
    local: tuple | None

    @staticmethod
    @lru_cache(maxsize=4096)
    def parse(text):
        shape, encoding = re.fullmatch(r"tensor<([^,]*), #dist.value<(.*)>>", text).groups()
        parts = {name: value for name, value in (part.split(" = ", 1) for part in split(encoding, ", "))}

        def entries(name):
            return tuple(entry for entry in split(parts[name][1:-1], ", ") if entry)

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

    @property
    def is_split(self):
        return any('"' in entry for entry in self.sharding)

    def with_dim(self, d, sharding, local):
        def put(entries, entry):
            return (*entries[:d], entry, *entries[d + 1 :])

        locals_ = None if self.local is None else put(self.local, local)
        return replace(self, sharding=put(self.sharding, sharding), local=locals_)


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
        if not match:  # of a body of control flow
            return Op("", "", [], "", [], "", [], "", line)
        results, name, body, loc = match.groups()
        parts = split(body, " : ")
        arrow = " to " if name == "dist.reshard" else " -> "
        types = split(parts[-1], arrow)
        transfers = name in ("dist.send", "dist.receive")
        if len(parts) == 1 or len(types) != 2 and name != "return" and not transfers:
            return Op(results or "", name, [], "", [], "", [], loc, line)
        operands, middle = re.fullmatch(rf"((?:{VALUE}(?:, )?)*)(.*)", " : ".join(parts[:-1])).groups()
        bare = [text[1:-1] if text.startswith("(") else text for text in types]
        lists = [split(text, ", ") if text else [] for text in bare]
        if name == "dist.receive":
            lists.insert(0, [])
        op = Op(results or "", name, [o for o in operands.split(", ") if o], middle.strip(), lists[0], arrow, [], loc)
        op.outputs = lists[1] if len(lists) == 2 else []
        assert str(op) == re.sub("  +", " ", line.strip()), f"{op} is not {line}"
        return op

    def copy(self):
        return replace(self, operands=[*self.operands], inputs=[*self.inputs], outputs=[*self.outputs])

    def __str__(self):
        if self.raw is not None:
            return self.raw.strip()
        left = f"{self.results} = {self.name}" if self.results else self.name
        words = [left, ", ".join(self.operands), self.middle, ":"]
        text = " ".join(word for word in words if word)
        if self.name in ("return", "dist.send"):
            return f"{text} {', '.join(self.inputs)} {self.loc}"
        if self.name == "dist.receive":
            return f"{text} {self.outputs[0]} {self.loc}"
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
    def transfers(self):
        """Whether it sends or receives."""
        return self.name in ("dist.send", "dist.receive")

    @property
    def moves(self):
        """Whether it only changes where a value lives: a collective, a slice, a reshard."""
        return self.name.startswith("dist.") and not self.transfers


@dataclass
class Body:
    header: str
    ops: list
    mesh: dict  # ways of each axis, but the pipeline's

    def copy(self):
        return Body(self.header, [op.copy() for op in self.ops], self.mesh)

    def uses(self, value, after=-1):
        return [(op, i) for op in self.ops[after + 1 :] for i, used in enumerate(op.operands) if used == value]

    def use_instead(self, old, new, type=None, after=-1):
        for op in self.ops[after + 1 :]:
            if op.raw is not None:
                op.raw = re.sub(rf"{re.escape(old)}(?![\w#])", new, op.raw)
        for op, i in self.uses(old, after):
            op.operands[i] = new
            if type:
                op.inputs[i] = type

    def claim(self, value, type):
        """Says at its definition and all uses that a value is of that type."""
        for op in self.ops:
            for i, name in enumerate(op.values):
                if name == value and op.raw is None:
                    op.outputs[i] = type
        for op, i in self.uses(value):
            op.inputs[i] = type

    def __str__(self):
        return "\n".join([self.header] + [f"    {op}" for op in self.ops])


@dataclass
class Module:
    lines: list
    mesh: dict = field(default_factory=dict)
    bodies: list = field(default_factory=list)  # program, plan, program, ...; each one entry None in lines

    @staticmethod
    def parse(text):
        module, body = Module([]), None
        axes = re.search(r"dist.mesh @mesh <\[(.*)\]>", text)[1]
        module.mesh = {name: int(ways) for name, ways in re.findall(r'"(\w+)"=(\d+)', axes)}
        inner = {name: ways for name, ways in module.mesh.items() if name not in ("dp", "pp") and ways > 1}
        for line in text.splitlines():
            if line.startswith("  func.func "):
                body = Body(line, [], inner)
                module.bodies.append(body)
                module.lines.append(None)
            elif line.startswith("  }"):
                body = None
                module.lines.append(line)
            elif body is not None:
                body.ops.append(Op.parse(line))
            else:
                module.lines.append(line)
        return module

    def copy(self):
        """Shares the bodies: change what `edit` gives."""
        return Module(self.lines, self.mesh, [*self.bodies])

    def edit(self, index):
        self.bodies[index] = self.bodies[index].copy()
        return self.bodies[index]

    @property
    def programs(self):
        """Numbers of the bodies that run; the plan is the next one."""
        return range(0, len(self.bodies), 2)

    def is_aligned(self, index):
        """Whether the n-th op of the program is the n-th of its plan: each reshard became one collective."""
        program, plan = self.bodies[index : index + 2]
        return [op.moves or op.name for op in program.ops] == [op.moves or op.name for op in plan.ops]

    def stage(self, index):
        """Its number, and the profile that it is a stage of."""
        return re.search(r"@stage(\d+)(?:_(\d+))?", self.bodies[index].header).groups()

    def local_sizes(self):
        """{(size, sharding): size on a rank} of all dims in the programs."""
        known = {}
        for index in self.programs:
            for op in self.bodies[index].ops:
                for type in op.outputs:
                    if type.startswith("tensor") and (tensor := Tensor.parse(type)).local is not None:
                        known.update(zip(zip(tensor.dims, tensor.sharding), tensor.local))
        return known

    def __str__(self):
        bodies = iter(self.bodies)
        return "\n".join(str(next(bodies)) if line is None else line for line in self.lines) + "\n"
