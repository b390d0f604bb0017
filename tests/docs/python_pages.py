"""Pages with blocks of Python that continue each other."""

import os
import subprocess
import sys

from tests.docs.page import Ran, difference
from tests.docs.snippets import snippets
from tests.python.support import PACKAGES
from tests.support import BIN

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PACKAGES)), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


def run_python(test, code, folder, timeout=300):
    """What a program prints that ends well."""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=timeout,
                          env=ENVIRONMENT)  # fmt: skip
    test.assertEqual(done.returncode, 0, done.stderr)
    return done.stdout


def check_blocks(test, page, folder, blocks, lines):
    """All blocks run in a folder, and print what the page shows: so many blocks and lines at least."""
    found = snippets(page)
    code = [each for each in found if each.kind == "python"]
    test.assertEqual(len(code), page.read_text().count("```python"))
    test.assertGreaterEqual(len(code), blocks)
    said = run_python(test, "\nprint('== next', flush=True)\n".join(each.text for each in code), folder).split("== next\n")
    count, ran = 0, []
    for each, printed in zip(code, said, strict=True):
        ran.append(Ran(each.line, printed))
        after = found[found.index(each) + 1 :][:1]
        if after and after[0].kind == "shown":
            with test.subTest(page=page.name, line=each.line):
                test.assertIsNone(difference(after[0].lines, printed.splitlines()), printed)
            count += len(after[0].lines)
    test.assertGreaterEqual(count, lines)
    return ran
