"""Every command of the pages below docs/ runs, and prints what the page shows."""

import json
import os
import re
import shutil
import subprocess
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from tests.docs.launchers import on_path, write_launchers
from tests.docs.page import run_page
from tests.docs.python_pages import check_blocks
from tests.docs.snippets import snippet
from tests.support import BIN, ROOT, EndToEnd, data_sets, model_file

FILE_CHECK = next(filter(None, map(shutil.which, ("FileCheck-22", "FileCheck"))), None)

RULES = "max all_reduce per layer 2\nno all_gather of weights\nno collective between nodes except dp, pp\nmemory per rank <= 40 GiB\n"


def requests_of(data_set, folder):
    """A prompt of a decoder without its past, the step behind it, and the same as rows of steps: one text, with as many tokens."""
    for name in ("prompt", "step", "row", "next"):
        (folder / name).mkdir()
    ids = numpy_helper.to_array(onnx.load_tensor(data_set / "input_0.pb"))
    mask = numpy_helper.to_array(onnx.load_tensor(data_set / "input_1.pb"))
    batch, length = ids.shape
    past = mask.shape[1] - length
    for name, rows, count, before in (("prompt", batch, length, 0), ("step", batch, 1, length), ("row", 1, length, 0), ("next", 1, 1, length)):
        seen = np.ones((rows, before + count), mask.dtype)
        for i, tensor in enumerate((ids[:rows, :count], seen)):
            onnx.save_tensor(numpy_helper.from_array(np.ascontiguousarray(tensor), ("input_ids", "attention_mask")[i]),
                             folder / name / f"input_{i}.pb")  # fmt: skip
    return past


class PageTest(EndToEnd):
    """In a folder with the models that pages speak of."""

    def setUp(self):
        super().setUp()
        source = model_file("llama-dynamo-op18").parent
        for file in source.iterdir():
            (self.folder / file.name).symlink_to(file)
        self.decoder = model_file("llama-genai-int4").parent
        shutil.copytree(self.decoder, self.folder / "decoder")

    def make(self, model, artifact, *flags):
        self.run_ok("shardc", self.folder / model, *flags, "-o", self.folder / artifact)

    def rewrite(self, artifact, **entries):
        manifest = self.folder / artifact / "manifest.json"
        manifest.write_text(json.dumps(json.loads(manifest.read_text()) | entries))


class Pages(PageTest):
    def test_bitwise(self):
        self.assertEqual(len(run_page(self, "bitwise.md")), 6)

    def test_start(self):
        self.assertEqual(len(run_page(self, "start.md")), 5)
        check_blocks(self, ROOT / "docs/start.md", self.folder, blocks=1, lines=1)

    def test_compile(self):
        self.assertGreater(len(run_page(self, "compile.md")), 9)

    def test_machines(self):
        """Files of --topology that the page shows, one behind the other."""
        for number, text in enumerate(snippet(ROOT / "docs/compile.md", '{"nodes"').text.split("\n\n")):
            file = self.folder / f"machine{number}.json"
            file.write_text(text)
            self.assertIn("nodes", json.loads(text))
            said = self.run_ok("shardc", "plan", self.folder / "model.onnx", "--topology", file, "--dims", "batch=2,seq=8")
            self.assertIn("tokens/s", said)
        self.assertEqual(number, 1)

    def test_run(self):
        self.make("model.onnx", "model.shard", "--tp", "2")
        self.make("decoder/model.onnx", "decoder.shard", "--serve", "--tp", "2")
        self.make("decoder/model.onnx", "requests.shard", "--tp", "2")
        requests_of(data_sets("llama-genai-int4")[0], self.folder)
        (self.folder / "texts.json").write_text('[{"prompt": [1, 2, 3], "tokens": 8}, {"prompt": [7], "tokens": 4}]\n')
        self.assertGreater(len(run_page(self, "run.md")), 9)

    def test_deploy(self):
        self.make("model.onnx", "model.shard", "--tp", "2")
        environment = write_launchers(self.folder / "launchers")
        ran = run_page(self, "deploy.md", environment | {"PATH": on_path(self.folder / "launchers", BIN)})
        self.assertEqual(len(ran), 4)

    def test_read_a_plan(self):
        (self.folder / "rules.txt").write_text(RULES)
        (self.folder / "strict.txt").write_text("max all_reduce per layer 1\n")
        self.assertIn("".join(f"    {rule}\n" for rule in RULES.splitlines()), (ROOT / "docs/read-a-plan.md").read_text())
        self.assertGreater(len(run_page(self, "read-a-plan.md")), 9)

    @unittest.skipUnless(FILE_CHECK, "no FileCheck of LLVM")
    def test_file_check(self):
        """The file runs as lit would run it: its line RUN in the folder of the model."""
        test = snippet(ROOT / "docs/read-a-plan.md", "// RUN: ").text
        (self.folder / "plan.check").write_text(test)
        (self.folder / "tools").mkdir()
        (self.folder / "tools/FileCheck").symlink_to(FILE_CHECK)
        environment = os.environ | {"PATH": on_path(self.folder / "tools", BIN)}
        command = re.match("// RUN: (.*)", test)[1]
        for edited, status in ((command, 0), (command.replace("--tp 2", "--tp 1"), 1)):
            done = subprocess.run(["bash", "-c", edited], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, status, done.stderr)

    def test_formats(self):
        self.make("model.onnx", "newer.shard", "--tp", "2")
        self.rewrite("newer.shard", format=99, tool="shardc 7.0.0")
        self.assertEqual(len(run_page(self, "formats.md")), 5)


class Links(unittest.TestCase):
    def test_pages_name_files_that_there_are(self):
        for page in (ROOT / "docs").rglob("*.md"):
            for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")

    def test_all_pages_are_in_the_index(self):
        index = (ROOT / "docs/README.md").read_text()
        for page in (ROOT / "docs").glob("*.md"):
            self.assertTrue(page.name == "README.md" or f"({page.name})" in index, page.name)
