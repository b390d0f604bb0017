"""Prompts to models that take more tokens than they give, or fewer: the embedding says which ids there are, not the logits."""

import json
import unittest

import httpx
import numpy as np
import onnx
from onnx import numpy_helper

from tests.e2e.caches import VOCABULARY
from tests.e2e.test_rows import PAGE, text_decoder
from tests.python.http_server import serve
from tests.python.served_decoder import Reference
from tests.support import EndToEnd

import shardrt  # isort: skip

PROMPT = [5, 7, 11]


class Vocabulary(EndToEnd):
    """Tests of the decoder with another number of rows in its embedding."""

    rows: int

    @classmethod
    def setUpClass(cls):
        compiler = cls.of_class()
        file = compiler.folder / "model.onnx"
        model = text_decoder()
        weights = {weight.name: weight for weight in model.graph.initializer}
        table, head = (numpy_helper.to_array(weights[name]) for name in ("words", "head"))
        table = np.concatenate([table, 3 * table[: max(0, cls.rows - len(table))]])[: cls.rows]
        known = np.arange(head.shape[1]) < cls.rows  # of the others all logits are 0: none is the largest
        for name, value in (("words", table), ("head", head * known.astype(np.float32))):
            weights[name].CopyFrom(numpy_helper.from_array(value, name))
        onnx.save(model, file)
        # What configurations say is of the tokenizer, and bounds nothing.
        (compiler.folder / "config.json").write_text(json.dumps({"vocab_size": VOCABULARY - 20, "max_position_embeddings": 200}))
        cls.served, cls.whole = compiler.folder / "served.shard", compiler.folder / "whole.shard"
        for artifact, *flags in ((cls.served, f"--serve={PAGE}"), (cls.whole,)):
            compiler.run_ok("shardc", file, "--tp", 2, *flags, "-o", artifact)
        cls.reference = Reference(file)

    def opened(self, kind, *arguments, **options):
        made = kind(*arguments, **options)
        self.addCleanup(made.close)
        return made

    def refuses(self, call, token):
        with self.assertRaisesRegex(shardrt.InvalidArgument, f"no token {token}: expected 0 to {self.rows - 1}$"):
            call([3, token])

    def check_bound(self):
        last = [3, self.rows - 1]
        expected = self.reference.greedy(last, 3)
        for artifact in (self.served, self.whole):
            session = self.opened(shardrt.Session, artifact)
            self.assertEqual({info.name: info.num_rows for info in session.inputs}["input_ids"], self.rows)
            generator = self.opened(shardrt.Generator, session)
            self.assertEqual(generator.generate([last], max_tokens=3)[0].ids, expected)
            self.refuses(lambda prompt, generator=generator: generator.generate([PROMPT, prompt]), self.rows)
        server = self.opened(shardrt.Server, self.served, positions=400)
        others = [server.submit(PROMPT, max_tokens=20) for _ in range(3)]
        self.refuses(server.submit, self.rows)
        self.assertEqual(server.submit(last, max_tokens=3).result(60), expected)
        for other in others:
            self.assertEqual(other.result(60), self.reference.greedy(PROMPT, 20))

    def check_http(self):
        server = serve(self, self.served, "--positions", 400)
        ask = lambda prompt: httpx.post(f"{server.url}/v1/completions", timeout=60,
                                        json={"model": "served", "prompt": prompt, "max_tokens": 3, "temperature": 0, "ignore_eos": True})  # fmt: skip
        answer = ask([3, self.rows - 1])
        self.assertEqual(answer.status_code, 200, answer.text)
        self.assertEqual(answer.json()["choices"][0]["token_ids"], self.reference.greedy([3, self.rows - 1], 3))
        refused = ask([[3], [3, self.rows]])
        self.assertEqual((refused.status_code, refused.json()["error"]["message"]),
                         (400, f"there is no token {self.rows}: expected 0 to {self.rows - 1}"))  # fmt: skip


class MoreThanLogits(Vocabulary):
    rows = VOCABULARY + 8

    def test_ids_up_to_the_embedding(self):
        self.check_bound()
        self.check_http()

    def test_penalties(self):
        """What has no logit has no penalty."""
        generator = self.opened(shardrt.Generator, self.served)
        prompt = [3, self.rows - 1, self.rows - 2]
        found = generator.generate([prompt], max_tokens=1, presence_penalty=1, repetition_penalty=1.0001)[0].ids
        self.assertEqual(found, self.reference.greedy(prompt, 1))


class FewerThanLogits(Vocabulary):
    rows = VOCABULARY - 8

    def test_ids_up_to_the_embedding(self):
        self.check_bound()
        self.check_http()

    def test_a_token_that_it_gives_and_does_not_take(self):
        """The text that goes on with it ends, alone."""
        server = self.opened(shardrt.Server, self.served, positions=400)
        others = [server.submit(PROMPT, max_tokens=20) for _ in range(3)]
        with self.assertRaisesRegex(shardrt.InvalidArgument, f"'input_ids': there is no row {self.rows} in a table of {self.rows}"):
            server.submit(PROMPT, max_tokens=20, choose=lambda logits, ids: self.rows).result(60)
        for other in others:
            self.assertEqual(other.result(60), self.reference.greedy(PROMPT, 20))


if __name__ == "__main__":
    unittest.main()
