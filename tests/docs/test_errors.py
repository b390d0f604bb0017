"""Each entry of the pages of errors is produced by what stands below it, and its heading is among the words that are printed."""

import re
import shutil
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.docs.page import commands, run_page
from tests.docs.python_pages import check_blocks
from tests.docs.snippets import snippets
from tests.docs.test_pages import PageTest, requests_of
from tests.e2e.processes import free_port
from tests.e2e.test_rows import text_decoder
from tests.python.http_server import serve
from tests.python.small_tokenizers import letters
from tests.support import ROOT, EndToEnd, data_sets, model_file

FLOAT = TensorProto.FLOAT
# Without what is installed beside it, exporters among that.
PYTHON = f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n'


def small_model(file, operator, inputs, name, weights=(), domain=""):
    """y of x [n, 4], by one node."""
    x, y = (helper.make_tensor_value_info(value, FLOAT, ["n", 4]) for value in "xy")
    graph = helper.make_graph([helper.make_node(operator, inputs, ["y"], name=name, domain=domain)], "g", [x], [y], weights)
    opsets = [helper.make_opsetid("", 18)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), file)


def entries(page):
    """Headings of the second level, with their lines of the page: from, and up to."""
    lines = page.read_text().splitlines()
    at = [number for number, line in enumerate(lines, 1) if re.match("##? ", line)] + [len(lines) + 1]
    return [(lines[begin - 1][3:], begin, end) for begin, end in zip(at, at[1:]) if lines[begin - 1].startswith("## ")]


class Entries:
    def check_entries(self, page, ran):
        for heading, begin, end in entries(page):
            with self.subTest(entry=heading):
                said = [each.said for each in ran if begin < each.line < end]
                self.assertNotEqual(said, [], "nothing stands below it")
                wanted = re.compile(".*".join(re.escape(words.strip()) for words in heading.split("...")))
                for printed in said:
                    self.assertRegex(" ".join(printed.split()), wanted)

    def check_order(self, page):
        """Of the entries below each heading of the first level."""
        for part in re.split(r"(?m)^# ", page.read_text()):
            headings = re.findall(r"(?m)^## (.*)$", part)
            self.assertEqual(headings, sorted(headings, key=str.lower))

    def check_words(self, lines):
        """One line at least says more than who complains."""
        words = [re.sub(r"^\S+: (?=error: )|error: |\.\.\.", "", line).split() for line in lines]
        self.assertGreater(max(map(len, words)), 3, lines)


class Programs(PageTest, Entries):
    def make_models(self):
        small_model(self.folder / "unknown.onnx", "Frobnicate", ["x"], "/frob", domain="my.domain")
        small_model(self.folder / "undefined.onnx", "Add", ["x", "bias"], "/add")
        weight = numpy_helper.from_array(np.zeros((5, 4), np.float32), "w")
        small_model(self.folder / "mismatch.onnx", "MatMul", ["x", "w"], "/proj", [weight])
        (self.folder / "moved").mkdir()
        shutil.copy(self.decoder / "model.onnx", self.folder / "moved")
        (self.folder / "cut.onnx").write_bytes((self.folder / "model.onnx").read_bytes()[:100000])
        (self.folder / "hf").mkdir()
        (self.folder / "hf/config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
        (self.folder / "python").write_text(PYTHON)
        (self.folder / "python").chmod(0o755)

    def make_artifacts(self):
        self.make("model.onnx", "model.shard", "--tp", "2")
        self.make("decoder/model.onnx", "decoder.shard", "--serve", "--tp", "2")
        self.make("decoder/model.onnx", "requests.shard", "--tp", "2")
        self.run_ok("shardc", model_file("bert-ts-op17"), "-o", self.folder / "bounded.shard")
        for name, entries in (("newer.shard", {"format": 99, "tool": "shardc 7.0.0"}), ("damaged.shard", {})):
            shutil.copytree(self.folder / "model.shard", self.folder / name)
            self.rewrite(name, **entries)
        with (self.folder / "damaged.shard/stage0.program").open("a") as file:
            file.write("x")
        for name in ("changed", "lost"):
            shutil.copytree(model_file("llama-dynamo-op18").parent, self.folder / name)
            self.make(f"{name}/model.onnx", f"{name}.shard")
        with (self.folder / "changed/model.onnx").open("ab") as file:
            file.write(b"\0")
        shutil.rmtree(self.folder / "lost")

    def make_inputs(self):
        requests_of(data_sets("llama-genai-int4")[0], self.folder)
        ids, mask = np.full((1, 4), 9), np.ones((1, 4), np.int64)
        np.savez(self.folder / "floats.npz", input_ids=ids.astype(np.float32), attention_mask=mask)
        np.savez(self.folder / "lengths.npz", input_ids=ids, attention_mask=np.ones((1, 5), np.int64))
        long = np.ones((1, 200), np.int64)
        np.savez(self.folder / "long.npz", input_ids=long, attention_mask=long, token_type_ids=long - 1)
        empty = np.ones((1, 0), np.int64)
        np.savez(self.folder / "empty.npz", input_ids=empty, attention_mask=empty, token_type_ids=empty)
        np.savez(self.folder / "vocabulary.npz", input_ids=np.full((1, 4), 99999), attention_mask=mask)

    def test_errors(self):
        self.make_models()
        self.make_artifacts()
        self.make_inputs()
        page = ROOT / "docs/errors.md"
        ran = run_page(self, "errors.md", {"SHARDC_PYTHON": str(self.folder / "python")})
        self.check_order(page)
        self.check_entries(page, ran)
        for command in commands(page):
            with self.subTest(command=command.text):
                self.check_words(command.shown)


class PythonAndServer(EndToEnd, Entries):
    def test_errors(self):
        folder = self.folder / "decoder"
        folder.mkdir()
        onnx.save(text_decoder(), folder / "model.onnx")
        letters().save(str(folder / "tokenizer.json"))
        (self.folder / "model.onnx").symlink_to(model_file("llama-dynamo-op18"))
        self.run_ok("shardc", folder / "model.onnx", "--tp", 2, "--serve", "-o", self.folder / "decoder.shard")
        self.run_ok("shardc", self.folder / "model.onnx", "--tp", 2, "-o", self.folder / "model.shard")
        source = ROOT / "docs/errors-of-python-and-server.md"
        [started] = re.findall(r"`shardrt serve decoder.shard (.*)`", source.read_text())
        port = free_port()
        serve(self, self.folder / "decoder.shard", "--port", port, *started.split())
        page = self.folder / "page.md"
        page.write_text(source.read_text().replace("127.0.0.1:8000", f"127.0.0.1:{port}"))
        ran = check_blocks(self, page, self.folder, blocks=15, lines=15)
        self.check_order(page)
        self.check_entries(page, ran)
        for each in snippets(page):
            if each.kind == "shown":
                self.check_words(each.lines)
