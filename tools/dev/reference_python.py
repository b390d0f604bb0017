"""docs/reference/python.md of the sources of both packages, for tools/dev/reference.

It has what a package's __all__ names, and of modules with an __all__ of their own what the package's has not. Texts are the
docstrings of classes and functions, and the strings below fields and constants. In a docstring `name: text` is an entry of a
list where `name` is a parameter, and what is indented behind an empty line is an example.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (ast.ClassDef, *FUNCTIONS)
WIDTH = 110
ENTRY = re.compile(r"(\w+(?:, \w+)*): (.*)")
SPECIAL = re.compile(r"(?<![`\w.])__\w+__(?!`)")
MADE_BY = re.compile(r"\((?:\w+\.)+\w+\)\.")  # in the first line of a class: nobody calls it
CLOSING = ("Held", "Closing")  # what has a handle: no name of these packages


@dataclass(frozen=True)
class Module:
    """`name`: as users name what it has: "shardrt", or "shardrt.statistics"."""

    name: str
    path: Path
    tree: ast.Module

    @staticmethod
    def read(name, path):
        return Module(name, path, ast.parse(path.read_text()))

    def public(self):
        """Its __all__; None: it has none."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return ast.literal_eval(node.value)
        return None

    def imported(self):
        """Names of other modules of the package: (module, name there, name here), in order."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
                for each in node.names:
                    yield node.module, each.name, each.asname or each.name


def code(node):
    """As the source has it, with its quotes; annotations that are strings without them."""
    text = ast.unparse(node).replace("'os.PathLike[str]'", "os.PathLike[str]")
    return re.sub(r"'([^'\"]*)'", r'"\1"', text)


def lines_of(text, indent):
    """Of a string that is so far in."""
    first, *rest = text.splitlines()
    lines = [first.rstrip(), *(line[min(indent, len(line) - len(line.lstrip())) :].rstrip() for line in rest)]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def docstring(node):
    text = ast.get_docstring(node, clean=False)
    return lines_of(text, node.body[0].col_offset) if text else []


def prose(line):
    return SPECIAL.sub(r"`\g<0>`", line)


def markdown(lines, names=()):
    """A docstring; `names`: that are a list where lines begin with them."""
    page, inside = [], "text"
    for line in lines:
        entry = ENTRY.match(line)
        if inside == "example" and line and not line.startswith("    "):
            while not page[-1]:
                page.pop()
            page += ["```", ""]
            inside = "text"
        if inside == "example":
            page.append(line[4:])
        elif not line:
            page.append("")
            inside = "text"
        elif entry and set(entry[1].split(", ")) <= set(names):
            if inside == "text" and page and page[-1]:
                page.append("")
            page.append(f"- {', '.join(f'`{name}`' for name in entry[1].split(', '))}: {prose(entry[2])}")
            inside = "list"
        elif line.startswith("    ") and inside == "list":
            page.append("  " + prose(line.strip()))
        elif line.startswith("    ") and page and not page[-1]:
            page += ["```python", line[4:]]
            inside = "example"
        else:
            page += ([""] if inside == "list" else []) + [prose(line.strip())]
            inside = "text"
    return "\n".join(page + (["```"] if inside == "example" else []))


def parameters(node):
    """As they are declared, without `self`."""
    given = node.args
    plain = given.posonlyargs + given.args
    defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    found = [parameter(each, default) for each, default in zip(plain, defaults, strict=True) if each.arg not in ("self", "cls")]
    if given.vararg:
        found.append("*" + parameter(given.vararg))
    elif given.kwonlyargs:
        found.append("*")
    found += [parameter(each, default) for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return found + (["**" + parameter(given.kwarg)] if given.kwarg else [])


def parameter(node, default=None):
    annotation = f": {code(node.annotation)}" if node.annotation else ""
    return f"{node.arg}{annotation}" + (f" = {code(default)}" if default is not None else "")


def names_of(node):
    """Of parameters."""
    given = node.args
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg) if each]


def signature(node, name, result=True):
    """On a line, or one for each parameter."""
    begin = ("async " if isinstance(node, ast.AsyncFunctionDef) else "") + name
    end = f" -> {code(node.returns)}" if result and node.returns else ""
    given = parameters(node)
    line = f"{begin}({', '.join(given)}){end}"
    return line if len(line) <= WIDTH else "\n".join([f"{begin}(", *(f"    {each}," for each in given), f"){end}"])


def fence(text):
    return f"```python\n{text}\n```"


def marks(node):
    """Its decorators."""
    return [ast.unparse(each).split("(")[0] for each in node.decorator_list]


def below(body, index):
    """The string below a field or constant, as lines."""
    following = body[index + 1] if index + 1 < len(body) else None
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant) and isinstance(following.value.value, str):
        return lines_of(following.value.value, following.col_offset)
    return []


def default_of(node):
    """Of a field, as it is written; "" where it has none."""
    if node.value is None:
        return ""
    if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "field":
        made = {each.arg: ast.unparse(each.value) for each in node.value.keywords}.get("default_factory")
        return {None: "", "dict": " = {}", "list": " = []"}[made]
    return f" = {code(node.value)}"


def fields(node):
    """Of a class, (declaration, text): properties, too."""
    for index, each in enumerate(node.body):
        if isinstance(each, ast.AnnAssign) and not each.target.id.startswith("_"):
            yield f"{each.target.id}: {code(each.annotation)}{default_of(each)}", below(node.body, index)
        elif isinstance(each, FUNCTIONS) and "property" in marks(each) and not each.name.startswith("_"):
            yield f"{each.name}: {code(each.returns)}", docstring(each)


def methods(node):
    """Of a class, (name, all definitions of it): others than properties. Special ones are there if they say what they do."""
    found = {}
    for each in node.body:
        if not isinstance(each, FUNCTIONS) or "property" in marks(each) or each.name == "__init__":
            continue
        isSpecial = each.name.startswith("__") and bool(docstring(each))
        if isSpecial or not each.name.startswith("_"):
            found.setdefault(each.name, []).append(each)
    return found.items()


def initialiser(node):
    """The one to call; None: others make such objects, or it has no other than fields."""
    first = next(iter(docstring(node)), "")
    if MADE_BY.search(first) or any(re.search("Error|Exception", ast.unparse(base)) for base in node.bases):
        return None
    return next((each for each in node.body if isinstance(each, FUNCTIONS) and each.name == "__init__"), None)


def class_parts(node, name):
    """Below its heading."""
    made = initialiser(node)
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) not in CLOSING]
    if made:
        yield fence(signature(made, node.name, result=False))
    elif bases:
        yield fence(f"class {node.name}({', '.join(bases)})")
    yield markdown(docstring(node), names_of(made) if made else ())
    if made:
        yield markdown(docstring(made), names_of(made))
    has = [f"- `{declared}`" + (f": {prose(' '.join(text))}" if text else "") for declared, text in fields(node)]
    if made and has:
        yield "What it has:"  # behind a list of arguments
    yield "\n".join(has)
    for called, all_of_them in methods(node):
        yield f"### {'`' if called.startswith('__') else ''}{name}.{called}{'`' if called.startswith('__') else ''}"
        shown = [each for each in all_of_them if "overload" in marks(each)] or all_of_them
        yield fence("\n".join(signature(each, called) for each in shown))
        yield markdown(docstring(all_of_them[-1]), names_of(all_of_them[-1]))


def definition(module, name):
    """Of a name of a module: heading and below."""
    heading = f"{module.name}.{name}"
    for index, node in enumerate(module.tree.body):
        if isinstance(node, DEFINITIONS) and node.name == name:
            yield f"## {heading}"
            if isinstance(node, ast.ClassDef):
                yield from class_parts(node, heading)
            else:
                yield fence(signature(node, name))
                yield markdown(docstring(node), names_of(node))
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            yield f"## {heading}"
            yield fence(code(node))
            yield markdown(below(module.tree.body, index))


def aliases(module, text):
    """Names of types in what is shown of a module, that are neither Python's nor on this page: (name, what it is)."""

    def is_named(name):
        return re.search(rf"\b{name}\b", text)

    for node in module.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and is_named(name := ast.unparse(node.targets[0])):
            yield name, f"`{code(node.value)}`"
            yield from aliases(module, code(node.value))
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from ((each.asname, f"`{node.module}.{each.name}`") for each in node.names if each.asname and is_named(each.asname))
        elif isinstance(node, ast.ClassDef) and module.path.stem.startswith("_") and is_named(node.name):
            yield node.name, " ".join(docstring(node))
    for source, name, here in module.imported():
        file = module.path.parent / f"{source}.py"
        if is_named(here) and file.exists():
            yield from aliases(Module.read(source, file), name)


def defines(node, name):
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name


def package_parts(folder):
    """What a package offers, by module, and then what annotations name."""
    package = Module.read(folder.name, folder / "__init__.py")
    yield f"# {package.name}"
    yield markdown(docstring(package.tree))
    named, meant = set(package.public()), {}
    of_module = {}
    for source, name, here in package.imported():
        if here in named:
            of_module.setdefault(source, []).append(name)
    modules = [(Module.read(package.name, folder / f"{source}.py"), names) for source, names in of_module.items()]
    modules.append((package, sorted(named - {name for names in of_module.values() for name in names})))
    for file in sorted(folder.glob("*.py")):
        module = Module.read(f"{package.name}.{file.stem}", file)
        if not file.stem.startswith("_") and (further := [name for name in module.public() or () if name not in named]):
            modules.append((module, further))
    for module, names in modules:
        inOrder = [each for node in module.tree.body for each in names
                   if isinstance(node, DEFINITIONS) and node.name == each or defines(node, each)]  # fmt: skip
        parts = [part for name in inOrder for part in definition(module, name) if part]
        meant.update(aliases(module, "\n".join(re.findall(r"(?s)```python\n.*?\n```|^- `[^`]*`", "\n".join(parts), re.M))))
        yield from parts
    if meant:
        yield f"**What annotations of {package.name} name**"
        yield "\n".join(f"- `{name}`: {is_what}" for name, is_what in sorted(meant.items()))


def python_page(python, note):
    """Of the folder with both packages."""
    page = ["# The Python packages", note]
    for name in ("shardc", "shardrt"):
        page += package_parts(python / name / name)
    return "\n\n".join(page) + "\n"
