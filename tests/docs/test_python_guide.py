"""The blocks of docs/python.md run one after the other, and print what the page shows."""

import os
import re
import subprocess
import sys

import onnx

from tests.e2e.caches import decoder
from tests.python.support import PACKAGES
from tests.support import ROOT, EndToEnd, model_file

PAGE = ROOT / "docs/python.md"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n(?P<shown>(?:    [^\n]*\n)+))?", re.MULTILINE | re.DOTALL)


class Guide(EndToEnd):
    def test_blocks(self):
        (self.folder / "model.onnx").symlink_to(model_file("llama-dynamo-op18"))
        for file in model_file("llama-dynamo-op18").parent.glob("model.onnx?*"):
            (self.folder / file.name).symlink_to(file)
        onnx.save(decoder(), self.folder / "decoder.onnx")
        blocks = list(BLOCK.finditer(PAGE.read_text()))
        self.assertEqual(len(blocks), PAGE.read_text().count("```python"))
        self.assertGreater(len(blocks), 7)
        script = "\nprint('== next', flush=True)\n".join(block["code"] for block in blocks)
        done = subprocess.run([sys.executable, "-c", script], cwd=self.folder, capture_output=True, text=True, timeout=300,
                              env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PACKAGES))})  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        shown = 0
        for block, said in zip(blocks, done.stdout.split("== next\n"), strict=True):
            for line in (block["shown"] or "").splitlines():
                self.assertIn(line[4:], said.splitlines())
                shown += 1
        self.assertGreater(shown, 6)
