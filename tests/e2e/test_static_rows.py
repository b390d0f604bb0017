"""Decoders with static caches as steps of rows: what rows get is what the decoder whose caches grow gives."""

import json
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.caches import VOCABULARY
from tests.e2e.static_caches import ROOM, SPELLINGS, static_decoder
from tests.e2e.test_rows import PAGE, greedy, text_decoder
from tests.support import EndToEnd, program


class StaticRows(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "model.onnx"
        self.artifact = self.folder / "model.shard"

    def texts(self, artifact, texts, *flags):
        (self.folder / "texts.json").write_text(json.dumps(texts))
        out = self.folder / "out.json"
        self.run_ok("shardrun", artifact, "--texts", self.folder / "texts.json", "--cache", 400, "--outputs", out, *flags)
        return [text["tokens"] for text in json.loads(out.read_text())]

    def test_texts_are_those_of_the_decoder_that_grows(self):
        evaluator = ReferenceEvaluator(text_decoder())
        rng = np.random.default_rng(3)
        texts = [{"prompt": rng.integers(0, VOCABULARY, n).tolist(), "tokens": m} for n, m in ((3, 6), (11, 4), (1, 9), (20, 12))]
        expected = [greedy(evaluator, text["prompt"], text["tokens"]) for text in texts]
        for spelling in SPELLINGS:
            onnx.save(static_decoder(spelling), self.file)
            for plan in (["--tp", 1], ["--tp", 2], ["--pp", 2]):
                with self.subTest(spelling=spelling, plan=plan):
                    self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "-o", self.artifact)
                    self.assertEqual(self.texts(self.artifact, texts), expected)

    def test_verify_runs_requests_as_steps(self):
        for spelling in SPELLINGS:
            with self.subTest(spelling=spelling):
                onnx.save(static_decoder(spelling), self.file)
                text = self.run_ok("shardc", "verify", self.file, "--tp", 2, f"--serve={PAGE}", "--seed", 3)
                self.assertIn("the plan computes what one rank computes", text)
                self.assertNotIn("no step does it", text)

    def test_there_is_no_place_behind_the_room(self):
        onnx.save(static_decoder("index_copy"), self.file)
        self.run_ok("shardc", self.file, f"--serve={PAGE}", "-o", self.artifact)
        full = [{"prompt": list(range(ROOM - 3)), "tokens": 4}]
        self.assertEqual(len(self.texts(self.artifact, full)[0]), 4)
        (self.folder / "texts.json").write_text(json.dumps([{"prompt": list(range(ROOM - 3)), "tokens": 5}]))
        done = program("shardrun", self.artifact, "--texts", self.folder / "texts.json", "--cache", 400)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("a row has more positions than the model takes", done.stderr)

    def refused(self, model, why):
        onnx.save(model, self.file)
        done = program("shardc", self.file, f"--serve={PAGE}", "-o", self.artifact)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, why)
        self.assertFalse(self.artifact.exists())
        found = json.loads(self.run_ok("shardc", "check", self.file, "--json"))
        (note,) = [note for note in found["notes"] if note["kind"] == "no_rows"]
        self.assertRegex(" ".join([*note["where"], note["message"]]), why)

    def test_what_shows_empty_places_is_refused(self):
        self.refused(static_decoder("index_copy", shows_all=True), "l0.mixed.*shows a place of a cache that holds nothing")

    def test_what_reads_empty_places_is_refused(self):
        model = static_decoder("index_put")
        model.graph.node.append(helper.make_node("ReduceMax", ["present.0.k"], ["largest"], name="largest"))
        model.graph.output.append(helper.make_tensor_value_info("largest", TensorProto.FLOAT, None))
        self.refused(model, "largest.*reads places of a cache that may hold nothing")

    def test_what_writes_elsewhere_is_refused(self):
        """Two positions further on, say: the cache would not be that of the positions before."""
        model = static_decoder("index_put")
        for node in model.graph.node:
            if node.op_type == "Unsqueeze" and node.output[0] == "indices":
                node.input[0] = "moved"
        two = helper.make_tensor("two", TensorProto.INT64, [], [2])
        model.graph.node.insert(0, helper.make_node("Add", ["cache_position", "two.value"], ["moved"]))
        model.graph.node.insert(0, helper.make_node("Constant", [], ["two.value"], value=two))
        self.refused(model, "cache_position.* says where it writes into its caches, but not by the positions")

    def test_what_says_something_of_each_place_is_refused(self):
        """A bias for each place of the cache, which has no pattern."""
        model = static_decoder("index_put")
        bias = np.random.default_rng(1).uniform(-1, 1, ROOM).astype(np.float32)
        for node in model.graph.node:
            if node.op_type == "Where":
                node.output[0] = "mask.plain"
        at = next(i for i, node in enumerate(model.graph.node) if node.op_type == "Where")
        model.graph.node.insert(at + 1, helper.make_node("Add", ["mask.plain", "bias"], ["mask"], name="biased"))
        model.graph.initializer.append(helper.make_tensor("bias", TensorProto.FLOAT, [ROOM], bias))
        self.refused(model, "says something of each place of a cache")


if __name__ == "__main__":
    unittest.main()
