"""Steps of rows with cross-attention: what rows get is what each sequence gets alone, whatever encoders gave for others."""

import copy
import json
import os
import re
import unittest
from unittest import mock

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.encoders import HEADS, SIZE, SPELLINGS, Text, encoder_decoder
from tests.support import BUILD, EndToEnd, program, read_outputs

PAGE = 4
PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
# The sequence of each row, by step, and how many positions it takes: some have more than their encoder has keys, and
# sequences begin at different steps.
STEPS = [[(0, 5), (1, 9)], [(2, 1), (0, 1), (1, 3)], [(0, 1), (1, 1), (2, 1)], [(2, 6)], [(1, 1), (2, 1), (0, 1)]]


class EncoderRows(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file, self.artifact = self.folder / "model.onnx", self.folder / "model.shard"
        self.texts = [Text(1, 11), Text(2, 3), Text(3, 6, hidden=2)]

    def expected(self, lengths):
        """The logits of each sequence, whole, by ONNX's own evaluator of the decoder that computes all."""
        model = encoder_decoder("computed")
        evaluator = ReferenceEvaluator(model)
        return [evaluator.run(["logits.out"], text.feeds(model, 0, length))[0] for text, length in zip(self.texts, lengths)]

    def run_rows(self, model, *flags, always=False):
        """The logits of each sequence; its encoder's output is given with its first row, or with all."""
        past, folders, rows = [0] * len(self.texts), [], []
        root = self.folder / f"requests{len(list(self.folder.glob('requests*')))}"
        for sequence, count in (row for step in STEPS for row in step):
            has_encoder = always or past[sequence] == 0
            folders.append(self.texts[sequence].write(root / str(len(rows)), model, past[sequence], count, has_encoder=has_encoder))
            rows.append(sequence)
            past[sequence] += count
        sequences = ";".join(",".join(str(sequence) for sequence, _ in step) for step in STEPS)
        out = root / "out"
        self.run_ok("shardrun", self.artifact, "--inputs", *folders, "--sequences", sequences, "--outputs", out,
                    "--cache", 120, "--check-replicas", *flags)  # fmt: skip
        found = [[] for _ in past]
        for row, sequence in enumerate(rows):
            found[sequence].append(read_outputs(out / str(row))[0])
        return [np.concatenate(parts, axis=1) for parts in found], past

    def greedy(self, text, prompt, count):
        """By ONNX's own evaluator of the decoder that computes all."""
        model = encoder_decoder("computed")
        evaluator, tokens = ReferenceEvaluator(model), list(prompt)
        for _ in range(count):
            own = copy.copy(text)
            own.ids = np.array([tokens])
            logits = evaluator.run(["logits.out"], own.feeds(model, 0, len(tokens)))[0]
            tokens.append(int(logits[0, -1].argmax()))
        return tokens[len(prompt) :]

    def test_texts_get_what_they_get_alone(self):
        """A server gives the encoder's output with the first step of a text, and again where it lost its pages."""
        asked, expected = [], []
        for number, (prompt, count) in enumerate(((4, 6), (9, 3), (1, 8), (4, 5))):
            text = self.texts[number % 3]
            ids = self.texts[0].ids[0, :prompt].tolist()  # that begin alike, behind other encoders
            expected.append(self.greedy(text, ids, count))
            np.savez(self.folder / f"text{number}.npz", encoder_hidden_states=text.states,
                     encoder_attention_mask=text.shown.astype(np.int64))  # fmt: skip
            asked.append({"prompt": ids, "tokens": count, "inputs": f"text{number}.npz"})
        (self.folder / "texts.json").write_text(json.dumps(asked))
        self.assertNotEqual(expected[0][:3], expected[1][:3])
        evicted = 0
        for plan, room in ((["--tp", 1], 400), (["--tp", 2], 28), (["--pp", 2], 400), (["--dp", 2, "--pp", 2], 28)):
            with self.subTest(plan=plan):
                self.compiled("merged", *plan)
                out = self.folder / "out.json"
                text = self.run_ok("shardrun", self.artifact, "--texts", self.folder / "texts.json", "--cache", room,
                                   "--step-tokens", 6, "--outputs", out)  # fmt: skip
                evicted += int(re.search(r"(\d+) texts gave up their pages", text)[1])
                self.assertEqual([found["tokens"] for found in json.loads(out.read_text())], expected)
        self.assertGreater(evicted, 0)

    def test_texts_without_their_encoder_are_errors(self):
        self.compiled("merged")
        text = self.texts[0]
        given = {"encoder_hidden_states": text.states, "encoder_attention_mask": text.shown.astype(np.int64)}
        for inputs, room, why in (
            ({}, 40, "input 'encoder_attention_mask' of a text is missing"),
            ({**given, "words": text.states}, 40, "input 'words' of a text is none that the model takes of its encoder"),
            ({**given, "encoder_hidden_states": text.states[:, :0]}, 40, "has elements of another type, or not as many"),
            ({**given, "encoder_hidden_states": text.states[0]}, 40, "has other dims than the model takes"),
            (given, 16, "a text of 3 tokens and up to 2 more, with 11 of its encoder, does not fit a pool of 16 positions"),
        ):
            with self.subTest(why=why):
                np.savez(self.folder / "text.npz", **inputs)
                (self.folder / "texts.json").write_text(json.dumps([{"prompt": [1, 2, 3], "tokens": 2, "inputs": "text.npz"}]))
                done = program("shardrun", self.artifact, "--texts", self.folder / "texts.json", "--cache", room)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(why, done.stderr)

    def compiled(self, spelling, *flags):
        model = encoder_decoder(spelling)
        onnx.save(model, self.file)
        self.run_ok("shardc", self.file, f"--serve={PAGE}", *flags, "-o", self.artifact)
        return model

    def test_rows_get_what_they_get_alone(self):
        for spelling in SPELLINGS:
            for plan in (["--tp", 1], ["--tp", 2], ["--pp", 2], ["--tp", 2, "--pp", 2], ["--tp", 2, "--sp"]):
                with self.subTest(spelling=spelling, plan=plan):
                    model = self.compiled(spelling, *plan)
                    found, lengths = self.run_rows(model, "--repeat", 2)
                    self.assert_same_numbers(found, self.expected(lengths))

    def test_ranks_have_parts_of_the_pages(self):
        for plan in (["--tp", 8], ["--cp", 2]):
            with self.subTest(plan=plan):
                model = self.compiled("merged", *plan)
                found, lengths = self.run_rows(model)
                self.assert_same_numbers(found, self.expected(lengths))

    def test_the_output_of_an_encoder_may_come_with_each_step(self):
        for spelling in ("computed", "given"):
            model = self.compiled(spelling)
            once, lengths = self.run_rows(model)
            again, _ = self.run_rows(model, always=True)
            self.assert_same_numbers(again, self.expected(lengths))
            for one, other in zip(once, again):
                np.testing.assert_array_equal(one, other)

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_rows_on_a_simulated_cuda(self):
        for plan in (["--tp", 1], ["--tp", 2], ["--pp", 2]):
            with self.subTest(plan=plan), mock.patch.dict(os.environ, SHARDC_BACKENDS=str(PLUGIN.parent)):
                model = self.compiled("merged", *plan, "--target", "cuda")
                found, lengths = self.run_rows(model, "--device", "cuda", "--repeat", 2)
                self.assert_same_numbers(found, self.expected(lengths))

    def test_caches_of_8_bits(self):
        model = self.compiled("merged", "--tp", 2, "--kv-type", "int8")
        found, lengths = self.run_rows(model)
        self.assert_same_numbers(found, self.expected(lengths), 3e-2)

    def test_verify_runs_requests_as_steps(self):
        for spelling in SPELLINGS:
            with self.subTest(spelling=spelling):
                onnx.save(encoder_decoder(spelling), self.file)
                text = self.run_ok("shardc", "verify", self.file, "--tp", 2, "--pp", 2, f"--serve={PAGE}", "--seed", 3)
                self.assertIn("the plan computes what one rank computes", text)
                # A mask of one key for all that there are is no mask of a row's.
                for why in re.findall("no step does it: (.*)", text):
                    self.assertRegex(why, "input 'encoder_attention_mask' of a row .* has dims .*1], and its sequence's encoder gave")
                    self.assertEqual(spelling, "merged")

    def test_memory_is_that_of_both_kinds_of_positions(self):
        """8 rows behind 15 positions and a new one, 4 pages each, and 3 pages of an encoder's 9: of keys and values of 2 layers."""
        explained = self.folder / "explained.json"
        self.compiled("merged", "--tp", 2, "--dims", "batch=8,past=15,encoder=9", "--explain-json", explained)
        ranks = json.loads(explained.read_text())["ranks"]
        self.assertEqual(sum(rank["kv_bytes"] for rank in ranks), 8 * (4 + 3) * PAGE * HEADS * SIZE * 4 * 4)
        done = program("shardc", self.file, f"--serve={PAGE}", "--explain", "--dims", "words=8")
        self.assertIn("it has batch seq past encoder", done.stderr)

    def test_a_plan_has_room_for_the_keys_of_encoders(self):
        """As the program that is compiled for it has."""
        onnx.save(encoder_decoder("computed"), self.file)
        found = {}
        for encoder in (0, 10, 4000):
            dims, said = f"batch=8,past=15,encoder={encoder}", self.folder / "said.json"
            self.run_ok("shardc", "plan", self.file, f"--serve={PAGE}", "--topology", "h100:1x1", "--dims", dims + ",seq=1", "--json", said)
            plan = json.loads(said.read_text())
            self.assertEqual(plan["dims"].get("encoder"), encoder)
            self.run_ok("shardc", self.file, f"--serve={PAGE}", "--topology", "h100:1x1", "--dims", dims, "--explain-json", said)
            found[encoder] = plan["candidates"][0]["memory"]["kv"]
            self.assertEqual(found[encoder], json.loads(said.read_text())["ranks"][0]["kv_bytes"])
        self.assertLess(found[0], found[10])
        self.assertLess(found[10], found[4000])

    def test_a_sequence_without_its_encoder_says_so(self):
        model = self.compiled("merged")
        folder = self.texts[0].write(self.folder / "r", model, 0, 3, has_encoder=False)
        done = program("shardrun", self.artifact, "--inputs", folder, "--cache", 40)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("input 'encoder_hidden_states' of row 0 is missing: its sequence has nothing of the encoder yet", done.stderr)

    def refused(self, model, node, why):
        onnx.save(model, self.file)
        found = json.loads(self.run_ok("shardc", "check", self.file, "--json"))
        (note,) = [note for note in found["notes"] if note["kind"] == "no_rows"]
        self.assertIn(node, note["where"])
        self.assertRegex(note["message"], why)
        done = program("shardc", self.file, f"--serve={PAGE}", "-o", self.artifact)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, why)

    def test_what_reads_the_encoder_otherwise_is_named(self):
        model = encoder_decoder("computed")
        model.graph.node.extend([
            helper.make_node("Mul", ["encoder_hidden_states", "one"], ["louder"], name="louder"),
            helper.make_node("ReduceMax", ["louder"], ["loudest"], name="loudest"),
        ])  # fmt: skip
        model.graph.output.append(helper.make_tensor_value_info("loudest", 1, None))
        self.refused(model, "louder", "it reads what the encoder gave elsewhere than in the keys and values of cross-attention")

    def test_keys_that_depend_on_the_decoder_are_named(self):
        model = encoder_decoder("computed")
        for node in model.graph.node:
            if node.name == "l1.ck.flat":
                node.input[0] = "mixed.states"
        where = next(i for i, node in enumerate(model.graph.node) if node.name == "l1.ck.flat")
        model.graph.node.insert(where, helper.make_node("Add", ["encoder_hidden_states", "shift"], ["mixed.states"], name="mix"))
        model.graph.node.insert(where, helper.make_node("ReduceMax", ["l0.y", "shift.dims"], ["shift"], name="shift", keepdims=1))
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1]), "shift.dims"))
        self.refused(model, "l1.c.mixed", "made of .*, which has other sizes than the encoder's output")


if __name__ == "__main__":
    unittest.main()
