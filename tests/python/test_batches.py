"""Requests and steps that run together: through stages, over replicas, and the same bits as one by one."""

import unittest

import numpy as np
import onnx

from tests.e2e.caches import VOCABULARY, decoder, feed, inputs_of
from tests.python import support  # noqa: F401  before what follows
from tests.support import EndToEnd, model_file

import shardrt  # isort: skip

LLAMA = model_file("llama-dynamo-op18")
SHAPES = ((1, 8), (2, 5), (1, 1), (3, 4), (1, 8))
PLANS = {"pp": ("--pp", 2), "dp": ("--dp", 2), "both": ("--pp", 2, "--dp", 2), "neither": ()}


def request(shape, seed):
    ids = np.random.default_rng(seed).integers(0, 1000, shape)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


class Requests(EndToEnd):
    def open(self, name):
        session = shardrt.Session(self.compile(LLAMA, 2, *PLANS[name], to=f"{name}.shard"))
        self.addCleanup(session.close)
        return session

    def test_bits_are_those_of_one_by_one(self):
        requests = [request(shape, seed) for seed, shape in enumerate(SHAPES)]
        for name in PLANS:
            with self.subTest(name):
                session = self.open(name)
                expected = [session.run(each)["logits"].copy() for each in requests]
                found = session.run_batch(requests)
                again = session.run_batch(requests[::-1], deadline=60)
                for outputs, logits, shape in zip(found, expected, SHAPES, strict=True):
                    self.assertEqual(list(outputs), ["logits"])
                    self.assertEqual(logits.shape[:2], shape)
                    np.testing.assert_array_equal(outputs["logits"], logits)  # which the second batch has left alone
                for outputs, logits in zip(again[::-1], expected, strict=True):
                    np.testing.assert_array_equal(outputs["logits"], logits)
                self.assertEqual(session.run_batch([]), [])

    def test_an_error_is_that_of_all(self):
        session, cancellation = self.open("pp"), shardrt.Cancellation()
        good, bad = request((1, 4), 1), request((1, 4), 2)
        expected = session.run(good)["logits"].copy()
        bad["input_ids"] = bad["input_ids"] + 100000
        with self.assertRaisesRegex(shardrt.InvalidArgument, r"^input 'input_ids': there is no row 100\d{3} in a table of 1024: "):
            session.run_batch([good, bad, good])
        with self.assertRaisesRegex(shardrt.InvalidArgument, "attention_mask"):
            session.run_batch([good, {"input_ids": good["input_ids"]}])
        cancellation.cancel()
        with self.assertRaises(shardrt.Cancelled):
            session.run_batch([good, good], cancellation=cancellation)
        for outputs in session.run_batch([good, good]):
            np.testing.assert_array_equal(outputs["logits"], expected)
        session.close()
        with self.assertRaisesRegex(ValueError, "closed"):
            session.run_batch([good])


class Steps(EndToEnd):
    def setUp(self):
        super().setUp()
        self.model = decoder()
        onnx.save(self.model, self.folder / "model.onnx")
        self.session = shardrt.Session(self.compile(self.folder / "model.onnx", 2, "--serve=4", "--pp", 2))
        self.addCleanup(self.session.close)

    def row(self, sequence, ids, wanted="all"):
        given = {value.name: feed(value.name, len(sequence), np.array([ids])) for value in inputs_of(self.model)}
        return shardrt.Row(sequence, {name: value for name, value in given.items() if value is not None}, wanted)

    def steps(self, pool, run):
        """Logits of prompts and then of some tokens; `run` takes the rows of each step."""
        texts, found = [pool.sequence() for _ in range(4)], []
        for round_, count in enumerate((5, 1, 3)):
            rows = [self.row(text, [(7 * number + 3 * round_ + i) % VOCABULARY for i in range(count)])
                    for number, text in enumerate(texts)]  # fmt: skip
            found += run([[rows[0], rows[1]], [rows[2]], [rows[3]]])
        return found, [len(text) for text in texts]

    def test_bits_are_those_of_one_by_one(self):
        with self.session.pool(256) as apart, self.session.pool(256) as together:
            expected, _ = self.steps(apart, lambda steps: [apart.step(rows)["logits"].copy() for rows in steps])
            found, lengths = self.steps(together, lambda steps: [each["logits"] for each in together.step_batch(steps)])
            self.assertEqual(lengths, [9] * 4)
            for logits, wanted in zip(found, expected, strict=True):
                np.testing.assert_array_equal(logits, wanted)
            self.assertEqual(together.step_batch([]), [])

    def test_after_an_error_all_are_as_before(self):
        with self.session.pool(256) as pool:
            a, b = pool.sequence(), pool.sequence()
            with self.assertRaisesRegex(ValueError, "expected one of last, all, none"):
                pool.step_batch([[self.row(a, [1, 2])], [self.row(b, [3], "first")]])
            with self.assertRaises(shardrt.Error):
                pool.step_batch([[self.row(a, [1, 2])], [self.row(b, [VOCABULARY + 5])]])
            with self.assertRaises(shardrt.InvalidArgument):
                pool.step_batch([[self.row(a, [1, 2])], [self.row(a, [3])]])
            self.assertEqual((len(a), len(b), pool.free_pages), (0, 0, pool.pages))
            first, second = pool.step_batch([[self.row(a, [1, 2])], [self.row(b, [3])]], deadline=60)
            self.assertEqual((len(a), len(b)), (2, 1))
            self.assertEqual((first["logits"].shape[1], second["logits"].shape[1]), (2, 1))


if __name__ == "__main__":
    unittest.main()
