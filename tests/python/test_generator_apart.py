"""shardrt.Generator over artifacts without steps of any rows: for requests, with a state for each text or without caches, of
one row a step, and of one token a row."""

import unittest

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from tests.e2e.caches import VOCABULARY, decoder
from tests.e2e.test_rows_apart import dynamic_decoder, greedy
from tests.python.served_decoder import PROMPT, Served
from tests.support import model_file

import shardrt  # isort: skip

PROMPTS = [PROMPT, [9, 4, 2, 30, 17, 6, 22], [3]]


def one_at_a_time():
    """The decoder as it is traced for one token."""
    model = decoder()
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == "seq":
                dim.dim_value = 1
            elif dim.dim_param == "past + seq":
                dim.dim_param = "past + 1"
    return model


class Apart(Served):
    def generator(self, model, *flags, **options):
        onnx.save(model, self.folder / "requests.onnx")
        generator = shardrt.Generator(self.compile(self.folder / "requests.onnx", 2, *flags), **options)
        self.addCleanup(generator.close)
        return generator

    def check_texts(self, generator):
        texts = generator.generate(PROMPTS, max_tokens=6)
        self.assertEqual([text.ids for text in texts], [self.reference.greedy(prompt, 6) for prompt in PROMPTS])
        with self.open() as served:
            for options in ({"temperature": 1.2, "n": 2}, {"beams": 3, "n": 3}):
                found, expected = (each.generate(PROMPTS, max_tokens=6, **options) for each in (generator, served))
                self.assertEqual([text.ids for text in found], [text.ids for text in expected])

    def test_states(self):
        generator = self.generator(decoder())
        self.assertEqual(generator.session.page, 0)
        self.check_texts(generator)

    def test_one_token_at_a_time(self):
        for flags in ([], ["--serve=4"]):
            generator = self.generator(one_at_a_time(), *flags)
            self.assertTrue(generator._inputs.one_at_a_time)
            self.check_texts(generator)
            generator.close()

    def test_steps_of_one_row(self):
        """Of a model that makes one value of all positions: a prompt comes whole, and texts take turns."""
        model = dynamic_decoder()
        evaluator = ReferenceEvaluator(model)
        generator = self.generator(model, "--serve=4", step_tokens=2)
        self.assertTrue(generator._inputs.one_row)
        texts = generator.generate(PROMPTS, max_tokens=5)
        self.assertEqual([text.ids for text in texts], [greedy(evaluator, prompt, 5) for prompt in PROMPTS])
        several = generator.generate(PROMPTS[:1], max_tokens=4, n=3, temperature=1)
        self.assertEqual(several[0].ids, generator.generate(PROMPTS[:1], max_tokens=4, temperature=1)[0].ids)

    def test_little_room(self):
        generator = self.generator(decoder(), positions=14)
        texts = generator.generate(PROMPTS, max_tokens=6)
        self.assertEqual([text.ids for text in texts], [self.reference.greedy(prompt, 6) for prompt in PROMPTS])
        with self.assertRaisesRegex(ValueError, "may take 18 pages of 1 positions, and there are 14"):
            generator.generate(PROMPTS[:1], max_tokens=15)

    def test_errors_leave_it_as_it_was(self):
        generator = self.generator(decoder())
        generator._inputs.words = None  # as where it is not known how many there are
        with self.assertRaisesRegex(shardrt.InvalidArgument, "there is no row"):
            generator.generate([PROMPT, [VOCABULARY + 1]])
        self.assertEqual(generator.generate([PROMPT], max_tokens=4)[0].ids, self.reference.greedy(PROMPT, 4))

    def test_no_caches(self):
        model = model_file("llama-dynamo-op18")
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        expected = []
        for prompt in PROMPTS:
            ids = list(prompt)
            for _ in range(5):
                given = np.array([ids])
                logits = session.run(["logits"], {"input_ids": given, "attention_mask": np.ones_like(given)})[0]
                ids.append(int(logits[0, -1].argmax()))
            expected.append(ids[len(prompt) :])
        with shardrt.Generator(self.compile(model, 2)) as generator:
            self.assertEqual([text.ids for text in generator.generate(PROMPTS, max_tokens=5)], expected)
            forked = generator.generate(PROMPTS[:1], max_tokens=5, beams=2, n=2)
            self.assertEqual(len({tuple(text.ids) for text in forked}), 2)


if __name__ == "__main__":
    unittest.main()
