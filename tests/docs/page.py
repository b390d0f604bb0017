"""Pages of docs/ whose commands run: `    $ command`, and below it all that it prints. A line `...` stands for any lines, `...` within
a line for anything in it; `(exit status N)` is that of the command, 0 where it is not said."""

import os
import re
import subprocess
from typing import NamedTuple

from tests.docs.snippets import snippets
from tests.support import BIN, ROOT

STATUS = re.compile(r"\(exit status (\d+)\)$")


class Command(NamedTuple):
    line: int  # of the page
    text: str
    shown: list


class Ran(NamedTuple):
    line: int
    said: str


def commands(page):
    """Of all snippets of a page that begin with `$`."""
    found = []
    for snippet in snippets(page):
        for number, line in enumerate(snippet.lines if snippet.kind == "commands" else [], snippet.line):
            if line.startswith("$ "):
                found.append(Command(number, line[2:], []))
            elif line:
                found[-1].shown.append(line.strip())
    return found


def pattern(line):
    """Columns are as wide as the longest line needs them."""
    words = (".*".join(map(re.escape, word.split("..."))) for word in line.split())
    return re.compile(r"\s+".join(words).replace(r"\s+.*\s+", r"\s.*\s").replace(r"\s+.*", ".*"))


def parts(shown):
    """Lines that stand side by side: between those that are `...`."""
    found = [[]]
    for line in shown:
        if line.strip() == "...":
            found.append([])
        else:
            found[-1].append(line.strip())
    return found


def difference(shown, said):
    """The first line that is shown and not printed, or printed and not shown; None where there is none. Empty lines do not count."""
    said = [line.strip() for line in said if line.strip()]
    each = parts(shown)
    at = 0
    for number, part in enumerate(each):
        ends = number == len(each) - 1
        begins = [0] if number == 0 else [len(said) - len(part)] if ends else range(at, len(said) - len(part) + 1)
        wrong = [first_wrong(part, said[begin:]) if begin >= at else part[0] for begin in begins]
        if None not in wrong:
            return max(wrong, key=part.index, default=part[0])
        at = begins[wrong.index(None)] + len(part)
    return said[at] if len(each) == 1 and at < len(said) else None


def first_wrong(part, said):
    for line, printed in zip(part, [*said, *[None] * len(part)]):
        if printed is None or not pattern(line).fullmatch(printed):
            return line
    return None


def run_command(test, command, environment=None):
    """What it prints, which has to be what is shown."""
    shown = command.shown
    status = STATUS.match(shown[-1]) if shown else None
    done = subprocess.run(["bash", "-c", command.text], cwd=test.folder, capture_output=True, text=True, timeout=300,
                          env=os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"} | (environment or {}))  # fmt: skip
    said = done.stdout + done.stderr
    test.assertEqual(done.returncode, int(status[1]) if status else 0, said)
    test.assertIsNone(difference(shown[:-1] if status else shown, said.splitlines()), said)
    return Ran(command.line, said)


def run_page(test, name, environment=None):
    """All of its commands, one after the other, in the test's folder."""
    ran = []
    for command in commands(ROOT / "docs" / name):
        with test.subTest(page=name, line=command.line, command=command.text):
            ran.append(run_command(test, command, environment))
    return ran
