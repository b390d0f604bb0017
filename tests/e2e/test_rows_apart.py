"""Decoders that make one value of all positions of a request: steps of one row, each as its request alone."""

import json
import re
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.caches import HEADS, SIZE, VOCABULARY, feed, write_request
from tests.e2e.test_rows import PAGE, text_decoder
from tests.support import EndToEnd, program, read_outputs

# Rows by step: the sequence, and how many positions it takes.
STEPS = [(0, 5), (1, 9), (0, 1), (2, 1), (1, 1), (0, 1), (1, 3), (2, 2)]


def dynamic_decoder():
    """The text decoder with products of integers, each of an activation that all of its positions scale."""
    model = text_decoder()
    weights = {weight.name: weight for weight in model.graph.initializer}
    nodes, kept = [], dict(weights)
    for node in model.graph.node:
        weight = weights.get(node.input[1]) if node.op_type == "MatMul" else None
        if weight is None:
            nodes.append(node)
            continue
        x, at = node.input[0], node.output[0]
        values = numpy_helper.to_array(weight)
        scale = np.float32(np.abs(values).max() / 127)
        kept.pop(weight.name, None)
        whole = np.round(values / scale).astype(np.int8)
        for name, value in ((f"{at}.w", whole), (f"{at}.ws", scale), (f"{at}.wz", np.int8(0))):
            kept[name] = numpy_helper.from_array(value, name)
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [x], [f"{at}.q", f"{at}.s", f"{at}.z"], name=f"{at}.quantize"),
            helper.make_node("MatMulInteger", [f"{at}.q", f"{at}.w", f"{at}.z", f"{at}.wz"], [f"{at}.i"]),
            helper.make_node("Cast", [f"{at}.i"], [f"{at}.f"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{at}.s", f"{at}.ws"], [f"{at}.both"]),
            helper.make_node("Mul", [f"{at}.f", f"{at}.both"], [at]),
        ]
    for field, values in ((model.graph.node, nodes), (model.graph.initializer, kept.values())):
        values = list(values)
        del field[:]
        field.extend(values)
    return model


class Alone:
    """One sequence, by ONNX's own evaluator of a request for each part of it."""

    def __init__(self, evaluator):
        self.evaluator, self.past, self.length = evaluator, {}, 0

    def step(self, tokens):
        """The logits, and caches for the next."""
        ids = np.array([tokens])
        given = {name: feed(name, self.length, ids) for name in self.evaluator.input_names}
        empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
        given = {name: self.past.get(name, empty) if value is None else value for name, value in given.items()}
        names = self.evaluator.output_names
        made = dict(zip(names, self.evaluator.run(names, given)))
        self.past = {name.replace("present", "past"): value for name, value in made.items() if name != "logits"}
        self.length += len(tokens)
        return made["logits"]


def greedy(evaluator, prompt, count):
    """A prompt as one request, and each token as another."""
    sequence, tokens, step = Alone(evaluator), [], list(prompt)
    for _ in range(count):
        step = [int(sequence.step(step)[0, -1].argmax())]
        tokens += step
    return tokens


class RowsApart(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file, self.artifact = self.folder / "model.onnx", self.folder / "model.shard"
        self.model = dynamic_decoder()
        onnx.save(self.model, self.file)
        self.ids = np.random.default_rng(6).integers(0, VOCABULARY, (3, 40))

    def requests(self):
        """A folder and the tokens of each row."""
        past, folders, tokens = [0, 0, 0], [], []
        for i, (sequence, count) in enumerate(STEPS):
            tokens.append(self.ids[sequence, past[sequence] : past[sequence] + count])
            folders.append(write_request(self.folder / f"r{i}", self.model, past[sequence], tokens[-1][None]))
            past[sequence] += count
        return folders, tokens

    def test_rows_get_what_they_get_alone(self):
        folders, tokens = self.requests()
        evaluator = ReferenceEvaluator(self.model)
        alone = [Alone(evaluator) for _ in range(3)]
        expected = [alone[sequence].step(own.tolist()) for (sequence, _), own in zip(STEPS, tokens)]
        for plan in (["--tp", 1], ["--tp", 2], ["--pp", 2], ["--tp", 4, "--sp"]):
            with self.subTest(plan=plan):
                self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "-o", self.artifact)
                out = self.folder / "out"
                self.run_ok("shardrun", self.artifact, "--inputs", *folders, "--sequences", ";".join(str(s) for s, _ in STEPS),
                            "--outputs", out, "--cache", 40, "--check-replicas")  # fmt: skip
                found = [read_outputs(out / str(i))[0] for i in range(len(STEPS))]
                self.assert_same_numbers(found, expected)

    def test_the_whole_of_a_prompt_matters(self):
        """What makes the model one of this kind: in parts it gets something else."""
        evaluator = ReferenceEvaluator(self.model)
        whole, parts = Alone(evaluator), Alone(evaluator)
        tokens = self.ids[1, :9].tolist()
        last = whole.step(tokens)[0, -1]
        parts.step(tokens[:5])
        self.assertGreater(np.abs(parts.step(tokens[5:])[0, -1] - last).max(), 1e-4)

    def test_two_rows_in_a_step_are_an_error(self):
        self.run_ok("shardc", self.file, f"--serve={PAGE}", "-o", self.artifact)
        folders, _ = self.requests()
        done = program("shardrun", self.artifact, "--inputs", *folders[:2], "--sequences", "0,1", "--cache", 40)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("a step of 2 rows: of this model it has one", done.stderr)

    def test_texts_get_what_they_get_alone(self):
        """A server gives each text one row at a time; where pages run out a text comes again as it came at first."""
        evaluator = ReferenceEvaluator(self.model)
        rng = np.random.default_rng(8)
        texts = [{"prompt": rng.integers(0, VOCABULARY, n).tolist(), "tokens": m} for n, m in ((3, 8), (11, 4), (1, 9), (20, 3))]
        texts.append({"prompt": texts[3]["prompt"][:17] + [1], "tokens": 5})
        expected = [greedy(evaluator, text["prompt"], text["tokens"]) for text in texts]
        (self.folder / "texts.json").write_text(json.dumps(texts))
        evicted = 0
        for plan, room in ((["--tp", 1], 400), (["--tp", 2], 24), (["--pp", 2], 400), (["--dp", 2, "--pp", 2], 24)):
            with self.subTest(plan=plan):
                self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "-o", self.artifact)
                out = self.folder / "out.json"
                text = self.run_ok("shardrun", self.artifact, "--texts", self.folder / "texts.json", "--cache", room,
                                   "--step-tokens", 4, "--outputs", out)  # fmt: skip
                evicted += int(re.search(r"(\d+) texts gave up their pages", text)[1])
                self.assertEqual([found["tokens"] for found in json.loads(out.read_text())], expected)
        self.assertGreater(evicted, 0)

    def test_the_node_is_named(self):
        found = json.loads(self.run_ok("shardc", "check", self.file, "--json"))
        (note,) = [note for note in found["notes"] if note["kind"] == "rows_apart"]
        self.assertIn(".quantize", note["where"][0])

    def test_verify_runs_requests_as_steps(self):
        text = self.run_ok("shardc", "verify", self.file, "--tp", 2, f"--serve={PAGE}", "--seed", 3, "--dims", "batch=1")
        self.assertIn("the plan computes what one rank computes", text)
        self.assertNotIn("no step does it", text)


if __name__ == "__main__":
    unittest.main()
