"""A small decoder that takes steps of rows, what it says by a plain loop over ONNX Runtime, and letters as its tokens."""

import json

import numpy as np
import onnx
import onnxruntime

from tests.e2e.caches import HEADS, SIZE, VOCABULARY, decoder, feed, inputs_of
from tests.python import support  # noqa: F401  before what follows
from tests.python.small_tokenizers import letters
from tests.support import EndToEnd

import shardrt  # isort: skip

PROMPT = [5, 7, 11]


def log_softmax(logits):
    powers = np.exp(logits - logits.max())
    return np.log(powers / powers.sum())


class Reference:
    """Computes everything again for each token."""

    def __init__(self, file):
        self.inputs = inputs_of(onnx.load(file))
        self.session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        self.known = {}

    def logprobs(self, ids):
        """Of the token behind them."""
        if tuple(ids) not in self.known:
            given = {value.name: feed(value.name, 0, np.array([ids])) for value in self.inputs}
            empty = np.zeros((1, HEADS, 0, SIZE), np.float32)
            given = {name: empty if value is None else value for name, value in given.items()}
            logits = self.session.run(["logits"], given)[0][0, -1].astype(np.float64)
            self.known[tuple(ids)] = log_softmax(logits)
        return self.known[tuple(ids)]

    def greedy(self, ids, count):
        ids = list(ids)
        for _ in range(count):
            ids.append(int(self.logprobs(ids).argmax()))
        return ids[-count:]

    def sum_of(self, prompt, text):
        return sum(self.logprobs([*prompt, *text[:i]])[token] for i, token in enumerate(text))


class Served(EndToEnd):
    """Tests of it, over two ranks."""

    @classmethod
    def setUpClass(cls):
        compiler = cls.of_class()
        onnx.save(decoder(), compiler.folder / "model.onnx")
        cls.artifact = compiler.compile(compiler.folder / "model.onnx", 2, "--serve=4")
        cls.reference = Reference(compiler.folder / "model.onnx")

    def setUp(self):
        super().setUp()
        letters(VOCABULARY).save(str(self.folder / "tokenizer.json"))
        self.config = self.folder / "tokenizer_config.json"
        self.config.write_text(json.dumps({"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}:"}))

    def open(self, tokenizer=True, **options):
        generator = shardrt.Generator(self.artifact, self.folder / "tokenizer.json" if tokenizer else None, **options)
        self.addCleanup(generator.close)
        return generator
