"""The blocks of docs/python.md run one after the other, and print what the page shows."""

import os
import subprocess
import sys

import onnx

from tests.docs.python_pages import check_blocks
from tests.docs.snippets import snippet
from tests.e2e.caches import decoder
from tests.support import BUILD, ROOT, EndToEnd, model_file

PAGE = ROOT / "docs/python.md"


class Guide(EndToEnd):
    def test_blocks(self):
        (self.folder / "model.onnx").symlink_to(model_file("llama-dynamo-op18"))
        for file in model_file("llama-dynamo-op18").parent.glob("model.onnx?*"):
            (self.folder / file.name).symlink_to(file)
        onnx.save(decoder(), self.folder / "decoder.onnx")
        check_blocks(self, PAGE, self.folder, blocks=10, lines=7)

    def test_build_of_this_tree(self):
        command = snippet(PAGE, "PYTHONPATH=").text.strip()
        self.assertRegex(command, " python3$")
        command = command.replace("build/", f"{BUILD}/").removesuffix("python3") + f"{sys.executable} -"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SHARDC_LIBRARY", "SHARDC_PROGRAM"))}
        done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment,
                              input="import shardc, shardrt; print(shardrt.library_version(), shardc.__file__)")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(str(ROOT / "python/shardc"), done.stdout)
