"""What README.md and docs/install.md show runs: all but what installs and builds."""

import json

from tests.docs.page import Command, run_command
from tests.docs.python_pages import run_python
from tests.docs.snippets import snippet
from tests.large import decoder
from tests.support import ROOT, EndToEnd, model_file

PAGE = ROOT / "README.md"
MACHINE = {"nodes": 1, "devices_per_node": 2, "preset": "h100"}


class Folder(EndToEnd):
    def setUp(self):
        super().setUp()
        for file in model_file("llama-dynamo-op18").parent.iterdir():
            (self.folder / file.name).symlink_to(file)
        (self.folder / "cluster.json").write_text(json.dumps(MACHINE))


class Readme(Folder):
    def test_commands(self):
        for beginning in ("shardc model.onnx --tp 2", "shardc plan model.onnx"):
            for line in snippet(PAGE, beginning).lines:
                with self.subTest(command=line):
                    self.choose_model(with_caches="past=" in line)
                    run_command(self, Command(0, line, ["..."]))
        self.assertTrue((self.folder / "model.shard/manifest.json").exists())
        self.assertIn("<html", (self.folder / "report.html").read_text())

    def choose_model(self, with_caches):
        model = self.folder / "model.onnx"
        model.unlink()
        if with_caches:
            decoder(self.folder, layers=4, hidden=128, heads=4, kv_heads=2, inner=256, vocabulary=1000)
        else:
            model.symlink_to(model_file("llama-dynamo-op18"))

    def test_python(self):
        self.assertEqual(run_python(self, snippet(PAGE, "import numpy").text, self.folder), "(1, 3, 1024)\n")


class Install(Folder):
    def test_python(self):
        code = snippet(ROOT / "docs/install.md", "import numpy").text
        self.assertEqual(run_python(self, code, self.folder), "(1, 3, 1024)\n")
