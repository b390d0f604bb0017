"""Pages of docs/ whose commands run: `    $ command`, and below it what it prints, in order. `...` stands for anything, within a
line or as lines of its own; `(exit status N)` is that of the command, 0 where it is not said."""

import os
import re
import subprocess

from tests.support import BIN, ROOT

COMMAND = re.compile(r"^    \$ (?P<command>.*)\n(?P<shown>(?:    (?!\$ ).*\n)*)", re.MULTILINE)
STATUS = re.compile(r"\(exit status (\d+)\)$")


def pattern(line):
    """Columns are as wide as the longest line needs them."""
    words = (".*".join(map(re.escape, word.split("..."))) for word in line.split())
    return re.compile(r"\s+".join(words).replace(r"\s+.*\s+", r"\s.*\s").replace(r"\s+.*", ".*"))


def missing(shown, said):
    """The first of the lines that is not printed behind those before it; None where all are."""
    at = 0
    for line in shown:
        if line == "...":
            continue
        wanted = pattern(line)
        while at < len(said) and not wanted.fullmatch(said[at].strip()):
            at += 1
        if at == len(said):
            return line
        at += 1
    return None


def run_page(test, name):
    """All of its commands, one after the other, in the test's folder."""
    commands = list(COMMAND.finditer((ROOT / "docs" / name).read_text()))
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    for command in commands:
        shown = [line.strip() for line in command["shown"].splitlines()]
        status = STATUS.match(shown[-1]) if shown else None
        with test.subTest(command=command["command"]):
            done = subprocess.run(["bash", "-c", command["command"]], cwd=test.folder, capture_output=True, text=True, timeout=300,
                                  env=environment)  # fmt: skip
            said = done.stdout + done.stderr
            test.assertEqual(done.returncode, int(status[1]) if status else 0, said)
            test.assertIsNone(missing(shown[:-1] if status else shown, said.splitlines()), said)
    return len(commands)
