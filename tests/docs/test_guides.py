"""Every command of docs/*.md runs, and prints the lines that the page shows."""

import re
import shlex
import shutil
from pathlib import Path

from tests.docs.page import run_page
from tests.large import decoder
from tests.support import EndToEnd, model_file, program

DOCS = Path(__file__).parents[2] / "docs"
MODELS = {
    "8b": {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "inner": 14336, "vocabulary": 128256},
    "70b": {"layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "inner": 28672, "vocabulary": 128256},
    "405b": {"layers": 126, "hidden": 16384, "heads": 128, "kv_heads": 8, "inner": 53248, "vocabulary": 128256},
    "moe": {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "inner": 14336, "vocabulary": 32000, "experts": 8},
}
TABLED = re.compile(r"^\|[^|]*\| `(shardc [^`]*)` \|$", re.MULTILINE)


class Guides(EndToEnd):
    def run_guide(self, name):
        for model, sizes in MODELS.items():
            (self.folder / model).mkdir()
            decoder(self.folder / model, **sizes)
        (self.folder / "h100-and-l40s.json").symlink_to(DOCS / "h100-and-l40s.json")
        self.assertGreater(len(run_page(self, name)), 3)

    def test_which_strategy(self):
        self.run_guide("which-strategy.md")

    def test_70b_on_128_h100(self):
        self.run_guide("70b-on-128-h100.md")

    def test_onnx_in_and_out(self):
        """One command after the other, in one folder: they take each other's files."""
        page = (DOCS / "onnx-in-and-out.md").read_text()
        shutil.copy(model_file("gpt2-dynamo-op20"), self.folder / "model.onnx")
        commands = TABLED.findall(page)
        self.assertEqual(len(commands), 4)
        said = []
        for command in commands:
            paths = [self.folder / word if (self.folder / word).exists() or word in ("annotated.onnx", "model.shard", "ranks")
                     else word for word in shlex.split(command)[1:]]
            with self.subTest(command=command):
                done = program("shardc", *paths)
                self.assertEqual(done.returncode, 0, done.stderr)
                said += done.stderr.splitlines()
        shown = re.findall(r"^    (annotations: .*)$", page, re.MULTILINE)
        self.assertEqual(len(shown), 1)
        self.assertIn(shown[0], said)
