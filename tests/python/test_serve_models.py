"""`shardrt serve` of models that generate no text, the tensors that they are asked with, and decoders that it refuses."""

import base64
import subprocess
import sys
import unittest

import numpy as np
import onnx
import onnxruntime
import openai
from onnx import TensorProto, helper

from tests.e2e import test_encoder_rows
from tests.graphs import GraphBuilder
from tests.python import support
from tests.python.http_server import Asked, serve
from tests.support import model_file

import shardrt  # isort: skip
from shardrt.serve.kserve import _TYPES, TensorAsked, _array  # isort: skip
from shardrt.serve.problems import Problem  # isort: skip


class Tensors(unittest.TestCase):
    def test_numbers_are_of_the_type_that_is_asked_for(self):
        for datatype, shape, data in (("INT64", [0, 4], []), ("INT64", [2, 0], [[], []]), ("UINT64", [1], [2**63 + 5]),
                                      ("BOOL", [2], [True, 0]),
                                      ("UINT64", [2], [1, 2**64 - 1]), ("INT64", [2, 1], [[-(2**63)], [3]]), ("FP16", [2], [1, 0.5]),
                                      ("FP32", [0], []), ("BF16", [2], [1, 0.5])):  # fmt: skip
            array = _array(TensorAsked(name="x", datatype=datatype, shape=shape, data=data))
            self.assertEqual((_TYPES[array.dtype.name], list(array.shape)), (datatype, shape))
            self.assertEqual(array.tolist(), np.reshape(np.array(data, object), shape).tolist())
        for datatype, data, why in (("UINT64", [-1], "range of uint64"), ("INT64", [2**63], "range of int64"),
                                    ("UINT8", [256], "range of uint8"), ("INT32", [1.0], "expected integers"),
                                    ("FP32", ["1"], "expected numbers"), ("INT8", ["1"], "expected numbers"),
                                    ("FP32", [[1], 2], "expected numbers|inhomogeneous"), ("FP64", [10**400], "too large")):  # fmt: skip
            with self.assertRaisesRegex(Problem, why):
                _array(TensorAsked(name="x", datatype=datatype, shape=[len(data)], data=data))


class OtherModels(Asked):
    def test_an_encoder(self):
        artifact = self.folder / "bert.shard"
        self.run_ok("shardc", model_file("bert-ts-op17"), "--tp", 2, "-o", artifact)
        server = serve(self, artifact, "--name", "bert")
        with shardrt.Session(artifact) as session:
            inputs = [info.name for info in session.inputs]
            metadata = self.client.get(f"{server.url}/v2/models/bert").json()
            self.assertEqual([each["name"] for each in metadata["inputs"]], inputs)
            given = {info.name: np.ones([2, 4], info.dtype) for info in session.inputs}
            expected = session.run(given)
        tensors = [{"name": name, "shape": [2, 4], "datatype": "INT64", "data": array.ravel().tolist()} for name, array in given.items()]
        answer = self.client.post(f"{server.url}/v2/models/bert/infer", json={"inputs": tensors}).json()
        for output in answer["outputs"]:
            np.testing.assert_allclose(np.reshape(output["data"], output["shape"]), expected[output["name"]], rtol=1e-6)
        self.assertEqual(self.client.post(f"{server.url}/v2/models/bert/infer", json={"inputs": tensors[:1]}).status_code,
                         200 if len(tensors) == 1 else 400)  # fmt: skip
        answer = self.client.post(f"{server.url}/v1/completions", json={"model": "bert", "prompt": [1]})
        self.assertEqual(answer.status_code, 400)
        self.assertIn("without --serve", answer.json()["error"]["message"])

    def encoder(self):
        graph = GraphBuilder(seed=3)
        graph.node("MatMul", [graph.node("Gather", [graph.weight("words", 40, 8), "input_ids"], "x"), graph.weight("w", 8, 6)],
                   "last_hidden_state")  # fmt: skip
        values = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"]),
                  helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)]  # fmt: skip
        model = self.folder / "encoder.onnx"
        onnx.save(graph.model(values[:1], values[1:]), model)
        return model

    def test_lengths(self):
        """What such a model computes at once has a limit, whichever way it is asked."""
        (self.folder / "config.json").write_text('{"vocab_size": 40}')
        server = serve(self, self.compile(self.encoder(), 1), "--name", "encoder", "--most-length", 20, "--most-tokens", 50)
        infer = lambda rows: {"inputs": [{"name": "input_ids", "datatype": "INT64", "shape": [len(rows), len(rows[0])], "data": rows}]}
        embed = lambda rows: {"model": "encoder", "input": rows}
        for path, body in (("v2/models/encoder/infer", infer), ("v1/embeddings", embed)):
            for rows, why in (([[3] * 21], "21 tokens, expected 20 at most"), ([[3] * 20] * 3, "3 texts .* are 60, expected 50"),
                              ([[3] * 20] * 2, None)):  # fmt: skip
                answer = self.client.post(f"{server.url}/{path}", json=body(rows))
                self.assertEqual(answer.status_code, 400 if why else 200, answer.text)
                self.assertRegex(answer.text, why or "data")
        kserve, vectors = ("v2/models/encoder/infer", infer), ("v1/embeddings", embed)
        for token, (path, body) in ((-1, kserve), (40, kserve), (40, vectors)):
            answer = self.client.post(f"{server.url}/{path}", json=body([[3, token]]))
            self.assertEqual((answer.status_code, f"there is no token {token}: expected 0 to 39" in answer.text), (400, True), answer.text)
        answer = self.client.post(f"{server.url}/v1/embeddings", json=embed([[3] * 20, [3], [3]]))
        self.assertIn("are 60", answer.text, "shorter ones are filled up")

    def test_embeddings(self):
        model = self.encoder()
        reference, ids = onnxruntime.InferenceSession(str(model)), [[5, 6, 7], [8, 9]]
        server = serve(self, self.compile(model, 2), "--name", "encoder")
        for encoding in ("float", "base64"):
            answer = self.client.post(f"{server.url}/v1/embeddings", json={"model": "encoder", "input": ids, "encoding_format": encoding})
            self.assertEqual(answer.status_code, 200, answer.text)
            self.assertEqual(answer.json()["usage"]["total_tokens"], 5)
            for row, found in zip(ids, answer.json()["data"], strict=True):
                vector = found["embedding"]
                if encoding == "base64":
                    vector = np.frombuffer(base64.b64decode(vector), np.float32)
                hidden = reference.run(None, {"input_ids": np.array([row])})[0][0]
                np.testing.assert_allclose(vector, hidden.mean(0), rtol=1e-4, atol=1e-5)
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        self.addCleanup(client.close)
        self.assertEqual(len(client.embeddings.create(model="encoder", input=ids).data[0].embedding), 6)


class Encoders(unittest.TestCase):
    def test_a_decoder_that_takes_more_than_tokens_is_refused(self):
        case = test_encoder_rows.EncoderRows("compiled")
        case.setUp()
        self.addCleanup(case.doCleanups)
        case.compiled("merged")
        done = subprocess.run([sys.executable, "-m", "shardrt", "serve", case.artifact, "--port", "0"], cwd=support.PACKAGES[0],
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "takes encoder_.* of each text, which cannot be asked for over HTTP: use shardrt.Server")
        self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    unittest.main()
