"""shardrt.run_texts: texts of different lengths in one call, each as ONNX Runtime has it alone."""

import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from tests.graphs import GraphBuilder
from tests.python import support  # noqa: F401  before what follows
from tests.python.small_tokenizers import TEXT, byte_level
from tests.support import EndToEnd, model_file

import shardrt  # isort: skip

IDS = [[5, 9, 3], [8], [7, 1, 2, 4, 6, 11, 30], [12, 13]]


def alone(model, ids):
    """The outputs of each text by itself, without the batch."""
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    values = {"input_ids": lambda row: row, "attention_mask": np.ones_like, "token_type_ids": np.zeros_like}
    found = []
    for row in ids:
        given = {value.name: values[value.name](np.array([row])) for value in session.get_inputs()}
        found.append([output[0] for output in session.run(None, given)])
    return found


class Encoders(EndToEnd):
    def check(self, model, texts, tokenizer=None, ids=None, tp=2):
        with shardrt.Session(self.compile(model, tp)) as session:
            found = shardrt.run_texts(session, texts, tokenizer)
        expected = alone(model, ids or texts)
        self.assertEqual(len(found), len(texts))
        for outputs, each in zip(found, expected, strict=True):
            for output, value in zip(outputs.values(), each, strict=True):
                self.assertEqual(output.shape, value.shape)
                np.testing.assert_allclose(output, value, rtol=1e-3, atol=1e-4)

    def test_outputs_of_texts(self):
        self.check(model_file("bert-ts-op17"), IDS)

    def test_outputs_of_positions(self):
        self.check(model_file("llama-dynamo-op18"), IDS)

    def test_text(self):
        inner = byte_level()
        inner.save(str(self.folder / "tokenizer.json"))
        ids = [inner.encode(text[:40]).ids for text in TEXT]
        self.check(model_file("bert-ts-op17"), [text[:40] for text in TEXT], shardrt.Tokenizer.from_file(self.folder), ids)

    def model(self, batch, length, *, masked, quantised=False):
        """Means over positions, and what they are of."""
        graph = GraphBuilder(seed=2)
        x = graph.node("Gather", [graph.weight("words", 40, 8), "input_ids"], "words_of")
        if masked:
            mask = graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
            last = graph.constant("last", [-1])
            x = graph.node("Mul", [x, graph.node("Unsqueeze", [mask, last], "column")], "seen")
        if quantised:
            graph.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], ["bytes", "scale", "zero"]))
            x = graph.node("DequantizeLinear", ["bytes", "scale", "zero"], "rounded")
        x = graph.node("Identity", [x], "positions")
        axes = graph.constant("axes", [1])
        total = graph.node("ReduceSum", [x, axes], "total", keepdims=0)
        value = helper.make_tensor_value_info
        inputs = [value(name, TensorProto.INT64, [batch, length]) for name in ("input_ids", "attention_mask")[: 1 + masked]]
        outputs = [value(x, TensorProto.FLOAT, [batch, length, 8]), value(total, TensorProto.FLOAT, [batch, 8])]
        onnx.save(graph.model(inputs, outputs), self.folder / "model.onnx")
        return self.folder / "model.onnx"

    def test_rows_that_are_not_independent(self):
        """Dynamic quantisation scales all texts by the largest number of any: each runs by itself."""
        model = self.model("batch", "sequence", masked=True, quantised=True)
        self.check(model, [*IDS, IDS[0], list(range(1, 31))], tp=1)
        with shardrt.Session(self.compile(model, 1)) as session:
            self.assertFalse(session.has_independent_rows)
            together = session.run({"input_ids": np.array([IDS[0], [30, 30, 30]]), "attention_mask": np.ones((2, 3), np.int64)})
            by_itself = shardrt.run_texts(session, [IDS[0]])[0]["total"]
            self.assertGreater(np.abs(together["total"][0] - by_itself).max(), 1e-3)
        with shardrt.Session(self.compile(model_file("bert-ts-op17"), 2)) as session:
            self.assertTrue(session.has_independent_rows)

    def test_no_mask(self):
        self.check(self.model("batch", "sequence", masked=False), [*IDS, [3, 2, 1], [20]], tp=1)

    def test_fixed_sizes(self):
        model = self.model(3, 8, masked=True)
        weights = {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load(model).graph.initializer}
        with shardrt.Session(self.compile(model, 1)) as session:
            found = shardrt.run_texts(session, IDS)
            for outputs, ids in zip(found, IDS, strict=True):
                np.testing.assert_allclose(outputs["positions"], weights["words"][ids], rtol=1e-5)
                np.testing.assert_allclose(outputs["total"], weights["words"][ids].sum(0), rtol=1e-4, atol=1e-5)
            with self.assertRaisesRegex(ValueError, "a text has 9 tokens, and the model takes 8"):
                shardrt.run_texts(session, [[1] * 9])

    def test_mistakes(self):
        with shardrt.Session(self.compile(model_file("bert-ts-op17"), 1)) as session:
            self.assertEqual(shardrt.run_texts(session, []), [])
            with self.assertRaisesRegex(ValueError, "texts need a tokenizer"):
                shardrt.run_texts(session, ["a"])
            with self.assertRaisesRegex(TypeError, "texts: expected a list of texts, found one: \\['one'\\]"):
                shardrt.run_texts(session, "one")
            with self.assertRaisesRegex(ValueError, "a text has no tokens"):
                shardrt.run_texts(session, [[]])
            with self.assertRaisesRegex(shardrt.InvalidArgument, "nothing"):
                shardrt.run_texts(session, IDS, inputs={"nothing": np.zeros(1)})
        with shardrt.Session(self.compile(model_file("vit-ts-static-op17"), 1)) as session:
            with self.assertRaisesRegex(ValueError, "no input input_ids"):
                shardrt.run_texts(session, IDS)


if __name__ == "__main__":
    unittest.main()
