"""Decoders that take one position of each row at a time: steps of one token a row, of rows of any lengths."""

import functools
import json
import unittest

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.caches import HEADS, SIZE, VOCABULARY, decoder, feed, write_request
from tests.e2e.static_caches import SPELLINGS, static_decoder
from tests.e2e.test_rows import PAGE, greedy, text_decoder
from tests.support import EndToEnd, program, read_outputs

# The sequence of each row, by step.
STEPS = [[0], [1, 0], [0, 2], [2, 1, 0], [0], [0, 2], [1, 2, 0], [2]]
# The other has one row.
OF_A_BATCH = [spelling for spelling in SPELLINGS if spelling != "tensor_scatter"]


def of_one_position(model):
    """The same graph, traced for one new position of each row of a batch."""
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "seq":
                dim.dim_value = 1
            elif dim.dim_param == "past + seq":
                dim.dim_param = "past + 1"
    return model


class SingleRows(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file, self.artifact = self.folder / "model.onnx", self.folder / "model.shard"
        self.ids = np.random.default_rng(6).integers(0, VOCABULARY, (3, 40))

    def expected(self, whole, lengths):
        """The logits of each sequence, by ONNX's own evaluator of the decoder that takes any number of positions."""
        evaluator = ReferenceEvaluator(whole)
        empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
        logits = []
        for sequence, length in enumerate(lengths):
            given = {n: feed(n, 0, self.ids[sequence : sequence + 1, :length]) for n in evaluator.input_names}
            logits.append(evaluator.run(["logits"], {n: empty if v is None else v for n, v in given.items()})[0])
        return logits

    def run_rows(self, model, *flags):
        past, folders = [0] * len(self.ids), []
        root = self.folder / f"requests{len(list(self.folder.glob('requests*')))}"
        for sequence in (row for step in STEPS for row in step):
            ids = self.ids[sequence : sequence + 1, past[sequence] : past[sequence] + 1]
            folders.append(write_request(root / str(len(folders)), model, past[sequence], ids))
            past[sequence] += 1
        self.run_ok("shardrun", self.artifact, "--inputs", *folders, "--sequences", ";".join(",".join(map(str, step)) for step in STEPS),
                    "--outputs", root / "out", "--cache", 40, "--check-replicas", *flags)  # fmt: skip
        found = [[] for _ in past]
        for row, sequence in enumerate(row for step in STEPS for row in step):
            found[sequence].append(read_outputs(root / "out" / str(row))[0])
        return [np.concatenate(parts, axis=1) for parts in found], past

    def test_rows_get_what_they_get_alone(self):
        for make in (decoder, text_decoder):
            model = of_one_position(make())
            onnx.save(model, self.file)
            for plan in (["--tp", 1], ["--tp", 2], ["--pp", 2], ["--tp", 8]):
                with self.subTest(make=make.__name__, plan=plan):
                    self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "-o", self.artifact)
                    found, lengths = self.run_rows(model, "--repeat", 2)
                    self.assert_same_numbers(found, self.expected(make(), lengths))

    def test_static_caches(self):
        """What a step takes of attention_mask is that of the positions that there are; nothing says where they are."""
        for spelling in OF_A_BATCH:
            onnx.save(of_one_position(static_decoder(spelling)), self.file)
            grown = of_one_position(text_decoder())
            for plan in (["--tp", 1], ["--tp", 2], ["--pp", 2]):
                with self.subTest(spelling=spelling, plan=plan):
                    self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "-o", self.artifact)
                    found, lengths = self.run_rows(grown)
                    self.assert_same_numbers(found, self.expected(text_decoder(), lengths))

    def test_texts_get_what_they_get_alone(self):
        """A server gives each text one position a step, several texts beside each other."""
        onnx.save(of_one_position(text_decoder()), self.file)
        evaluator = ReferenceEvaluator(text_decoder())
        texts = [{"prompt": self.ids[i, :n].tolist(), "tokens": m} for i, n, m in ((0, 3, 8), (1, 11, 4), (2, 1, 9), (0, 20, 3))]
        expected = [greedy(evaluator, text["prompt"], text["tokens"]) for text in texts]
        (self.folder / "texts.json").write_text(json.dumps(texts))
        for plan, room in ((["--tp", 1], 400), (["--tp", 2], 24), (["--pp", 2], 400)):
            with self.subTest(plan=plan):
                self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "-o", self.artifact)
                out = self.folder / "out.json"
                self.run_ok("shardrun", self.artifact, "--texts", self.folder / "texts.json", "--cache", room, "--outputs", out)
                self.assertEqual([found["tokens"] for found in json.loads(out.read_text())], expected)

    def test_verify_runs_requests_as_steps(self):
        for make in (decoder, text_decoder, *(functools.partial(static_decoder, spelling) for spelling in OF_A_BATCH)):
            onnx.save(of_one_position(make()), self.file)
            text = self.run_ok("shardc", "verify", self.file, "--tp", 2, f"--serve={PAGE}", "--seed", 3)
            self.assertIn("the plan computes what one rank computes", text)
            self.assertNotIn("no step does it", text)

    def test_a_row_of_two_positions_is_an_error(self):
        onnx.save(of_one_position(decoder()), self.file)
        self.run_ok("shardc", self.file, f"--serve={PAGE}", "-o", self.artifact)
        folder = self.folder / "two"
        folder.mkdir()
        wide = {"input_ids": np.array([[3], [4]]), "position_ids": np.array([[0], [1]]), "mask": np.zeros((2, 1, 1, 2), np.float32)}
        for i, value in enumerate(of_one_position(decoder()).graph.input):
            tensor = wide.get(value.name, np.zeros((1, HEADS, 0, SIZE), np.float32))
            onnx.save_tensor(onnx.numpy_helper.from_array(tensor, value.name), folder / f"input_{i}.pb")
        done = program("shardrun", self.artifact, "--inputs", folder, "--cache", 40)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("a row has more positions than the model takes", done.stderr)

    def test_a_batch_of_one_is_named(self):
        """Where both are 1, nothing says which dims are of the rows."""
        of_one_row = of_one_position(decoder())
        for value in of_one_row.graph.input:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param == "batch":
                    dim.dim_value = 1
        for model in (of_one_row, of_one_position(static_decoder("tensor_scatter"))):
            onnx.save(model, self.file)
            found = json.loads(self.run_ok("shardc", "check", self.file, "--json"))
            (note,) = [note for note in found["notes"] if note["kind"] == "no_rows"]
            self.assertIn("or one position of each of a batch of any size", note["message"])

    def test_what_mixes_rows_of_the_batch_is_named(self):
        model = of_one_position(decoder())
        model.graph.node.append(helper.make_node("ReduceMax", ["logits"], ["largest"], name="largest", axes=[0]))
        model.graph.output.append(helper.make_tensor_value_info("largest", 1, None))
        model.opset_import[0].version = 17
        onnx.save(model, self.file)
        done = program("shardc", self.file, f"--serve={PAGE}", "-o", self.artifact)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, "largest.* has no place in a step of rows")


if __name__ == "__main__":
    unittest.main()
