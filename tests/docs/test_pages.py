"""Every command of the pages below docs/ runs, and prints what the page shows."""

import json
import re
import shutil
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.docs.page import missing, run_page
from tests.support import ROOT, EndToEnd, data_sets, model_file

FLOAT = TensorProto.FLOAT
RULES = "max all_reduce per layer 2\nno all_gather of weights\nno collective between nodes except dp, pp\nmemory per rank <= 40 GiB\n"


def small_model(file, operator, inputs, name, weights=(), domain=""):
    """y of x [n, 4], by one node."""
    x, y = (helper.make_tensor_value_info(value, FLOAT, ["n", 4]) for value in "xy")
    graph = helper.make_graph([helper.make_node(operator, inputs, ["y"], name=name, domain=domain)], "g", [x], [y], weights)
    opsets = [helper.make_opsetid("", 18)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), file)


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


class Pages(EndToEnd):
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

    def test_bitwise(self):
        self.assertEqual(run_page(self, "bitwise.md"), 6)

    def test_start(self):
        self.assertEqual(run_page(self, "start.md"), 5)

    def test_compile(self):
        self.assertGreater(run_page(self, "compile.md"), 9)

    def test_run(self):
        self.make("model.onnx", "model.shard", "--tp", "2")
        self.make("decoder/model.onnx", "decoder.shard", "--serve", "--tp", "2")
        self.make("decoder/model.onnx", "requests.shard", "--tp", "2")
        requests_of(data_sets("llama-genai-int4")[0], self.folder)
        (self.folder / "texts.json").write_text('[{"prompt": [1, 2, 3], "tokens": 8}, {"prompt": [7], "tokens": 4}]\n')
        self.assertGreater(run_page(self, "run.md"), 9)

    def test_deploy(self):
        self.make("model.onnx", "model.shard", "--tp", "2")
        self.assertEqual(run_page(self, "deploy.md"), 1)

    def test_read_a_plan(self):
        (self.folder / "rules.txt").write_text(RULES)
        (self.folder / "strict.txt").write_text("max all_reduce per layer 1\n")
        self.assertIn("".join(f"    {rule}\n" for rule in RULES.splitlines()), (ROOT / "docs/read-a-plan.md").read_text())
        self.assertGreater(run_page(self, "read-a-plan.md"), 9)

    def test_formats(self):
        self.make("model.onnx", "newer.shard", "--tp", "2")
        self.rewrite("newer.shard", format=99, tool="shardc 7.0.0")
        self.assertEqual(run_page(self, "formats.md"), 5)

    def test_errors(self):
        self.make("model.onnx", "model.shard", "--tp", "2")
        self.make("model.onnx", "newer.shard", "--tp", "2")
        self.rewrite("newer.shard", format=99, tool="shardc 7.0.0")
        shutil.copytree(self.folder / "model.shard", self.folder / "damaged.shard")
        with (self.folder / "damaged.shard/stage0.program").open("a") as file:
            file.write("x")
        (self.folder / "moved").mkdir()
        shutil.copy(self.decoder / "model.onnx", self.folder / "moved")
        (self.folder / "cut.onnx").write_bytes((self.folder / "model.onnx").read_bytes()[:100000])
        small_model(self.folder / "unknown.onnx", "Frobnicate", ["x"], "/frob", domain="my.domain")
        small_model(self.folder / "undefined.onnx", "Add", ["x", "bias"], "/add")
        weight = numpy_helper.from_array(np.zeros((5, 4), np.float32), "w")
        small_model(self.folder / "mismatch.onnx", "MatMul", ["x", "w"], "/proj", [weight])
        ids, mask = np.full((1, 4), 9), np.ones((1, 4), np.int64)
        np.savez(self.folder / "floats.npz", input_ids=ids.astype(np.float32), attention_mask=mask)
        np.savez(self.folder / "lengths.npz", input_ids=ids, attention_mask=np.ones((1, 5), np.int64))
        np.savez(self.folder / "vocabulary.npz", input_ids=np.full((1, 4), 99999), attention_mask=mask)
        count = run_page(self, "errors.md")
        page = (ROOT / "docs/errors.md").read_text()
        entries = re.findall(r"(?m)^## (.*)$", page)
        self.assertEqual(entries, sorted(entries, key=str.lower))
        self.assertGreaterEqual(count, len(entries), "each has a command")


class Links(unittest.TestCase):
    def test_pages_name_files_that_there_are(self):
        for page in (ROOT / "docs").rglob("*.md"):
            for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: {link}")

    def test_all_pages_are_in_the_index(self):
        index = (ROOT / "docs/README.md").read_text()
        for page in (ROOT / "docs").glob("*.md"):
            self.assertTrue(page.name == "README.md" or f"({page.name})" in index, page.name)


class Matching(unittest.TestCase):
    def test_lines(self):
        said = ["one  two", "three 12.5 ms", "four"]
        self.assertIsNone(missing(["one two", "...", "four"], said))
        self.assertIsNone(missing(["three ... ms"], said))
        self.assertEqual(missing(["four", "one two"], said), "one two")
        self.assertEqual(missing(["three ... s", "four"], said), "three ... s")
        self.assertEqual(missing(["fo"], said), "fo")
