"""Pages with blocks of Python that continue each other."""

import os
import re
import subprocess
import sys

from tests.python.support import PACKAGES

BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n(?P<shown>(?:    [^\n]*\n)+))?", re.MULTILINE | re.DOTALL)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PACKAGES))}


def check_blocks(test, page, folder, blocks, lines):
    """All blocks run in a folder, and print what the page shows: so many blocks and lines at least."""
    text = page.read_text()
    found = list(BLOCK.finditer(text))
    test.assertEqual(len(found), text.count("```python"))
    test.assertGreaterEqual(len(found), blocks)
    script = "\nprint('== next', flush=True)\n".join(block["code"] for block in found)
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=300,
                          env=ENVIRONMENT)  # fmt: skip
    test.assertEqual(done.returncode, 0, done.stderr)
    shown = 0
    for block, said in zip(found, done.stdout.split("== next\n"), strict=True):
        for line in (block["shown"] or "").splitlines():
            test.assertIn(line[4:], said.splitlines())
            shown += 1
    test.assertGreaterEqual(shown, lines)
