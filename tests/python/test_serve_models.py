"""`shardrt serve` of models that generate no text, the tensors that they are asked with, and decoders with an encoder."""

import base64
import unittest

import httpx
import numpy as np
import onnx
import onnxruntime
import openai
from onnx import TensorProto, helper

from tests.e2e import test_encoder_rows
from tests.graphs import GraphBuilder, placed_encoder
from tests.python import support  # noqa: F401  before what follows
from tests.python.http_server import Asked, serve
from tests.support import model_file

import shardrt  # isort: skip
from shardrt.serve.problems import Problem  # isort: skip
from shardrt.serve.tensors import TYPES, TensorAsked, array_of  # isort: skip


class Tensors(unittest.TestCase):
    def test_numbers_are_of_the_type_that_is_asked_for(self):
        for datatype, shape, data in (("INT64", [0, 4], []), ("INT64", [2, 0], [[], []]), ("UINT64", [1], [2**63 + 5]),
                                      ("BOOL", [2], [True, 0]),
                                      ("UINT64", [2], [1, 2**64 - 1]), ("INT64", [2, 1], [[-(2**63)], [3]]), ("FP16", [2], [1, 0.5]),
                                      ("FP32", [0], []), ("BF16", [2], [1, 0.5])):  # fmt: skip
            array = array_of(TensorAsked(name="x", datatype=datatype, shape=shape, data=data))
            self.assertEqual((TYPES[array.dtype.name], list(array.shape)), (datatype, shape))
            self.assertEqual(array.tolist(), np.reshape(np.array(data, object), shape).tolist())
        for datatype, data, why in (("UINT64", [-1], "range of uint64"), ("INT64", [2**63], "range of int64"),
                                    ("UINT8", [256], "range of uint8"), ("INT32", [1.0], "expected integers"),
                                    ("FP32", ["1"], "expected numbers"), ("INT8", ["1"], "expected numbers"),
                                    ("FP32", [[1], 2], "expected numbers|inhomogeneous"), ("FP64", [10**400], "too large"),
                                    ("FP32", [1e300], "range of float32"), ("FP32", [0.5, -1e39], "range of float32"),
                                    ("FP16", [65520.0], "range of float16"), ("FP64", [float("inf")], "range of float64")):  # fmt: skip
            with self.assertRaisesRegex(Problem, f"input 'x'.*({why})"):
                array_of(TensorAsked(name="x", datatype=datatype, shape=[len(data)], data=data))


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

    def test_what_a_request_violates_is_no_error_of_the_server(self):
        artifact = self.folder / "bounded.shard"
        self.run_ok("shardc", model_file("bert-ts-op17"), "--tp", 2, "-o", artifact)
        server = serve(self, artifact, "--name", "bert")

        def infer(batch, length, **others):
            ones = {"input_ids": 1, "attention_mask": 1, "token_type_ids": 0, **others}
            tensors = [{"name": name, "shape": [batch, length], "datatype": "INT64", "data": [value] * (batch * length)}
                       for name, value in ones.items()]  # fmt: skip
            answer = self.client.post(f"{server.url}/v2/models/bert/infer", json={"inputs": tensors})
            return answer.status_code, answer.json().get("error", {})

        for given, why, node in (
            ((1, 200), "^guard violated: .*expected sequence at most 128, found 200 and 128; change the inputs' shapes",
             "/model/bert/embeddings/Slice"),
            ((0, 4), "^guard violated: .*expected batch at least 1, found 0 and 1", "/model/bert/encoder/layer.0/attention/self/Reshape"),
            ((1, 0), "Gather: index 0 is outside of a dim of size 0", "/model/bert/pooler/Gather"),
        ):  # fmt: skip
            with self.subTest(given=given):
                status, error = infer(*given)
                self.assertEqual(status, 400, error)
                self.assertRegex(error["message"], why)
                self.assertEqual(error["node"], node)
        status, error = infer(1, 4, token_type_ids=7)
        self.assertEqual(status, 400, error)
        self.assertRegex(error["message"], "^input 'token_type_ids': there is no row 7 in a table of 2: expected 0 to 1")
        self.assertEqual(infer(1, 4)[0], 200)

    def test_a_text_that_is_longer_than_the_positions(self):
        """Which only the table of positions says."""
        onnx.save(placed_encoder(), self.folder / "placed.onnx")
        server = serve(self, self.compile(self.folder / "placed.onnx", 2), "--name", "placed")
        for length, status in ((16, 200), (17, 400), (3, 200)):
            answer = self.client.post(f"{server.url}/v1/embeddings", json={"model": "placed", "input": [3] * length})
            self.assertEqual(answer.status_code, status, answer.text)
            if status == 400:
                self.assertIn("index 16 is outside of a dim of size 16", answer.json()["error"]["message"])
                self.assertEqual(answer.json()["error"]["node"], "placed")

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
    def tensors(self, given, encoded=False):
        return [{"name": name, "datatype": TYPES[array.dtype.name], "shape": list(array.shape),
                 "data": base64.b64encode(array.tobytes()).decode() if encoded else array.tolist()}
                for name, array in given.items()]  # fmt: skip

    def test_a_decoder_takes_what_its_encoder_gave(self):
        """Against ONNX's own evaluator of the decoder that computes all."""
        case = test_encoder_rows.EncoderRows("compiled")
        case.setUp()
        self.addCleanup(case.doCleanups)
        case.compiled("merged", "--tp", 2)
        (case.folder / "config.json").write_text('{"decoder_start_token_id": 2}')
        server = serve(self, case.artifact, "--name", "decoder", "--positions", 200)
        client = httpx.Client(base_url=server.url, timeout=60)
        self.addCleanup(client.close)
        given = [{"encoder_hidden_states": text.states, "encoder_attention_mask": text.shown.astype(np.int64)} for text in case.texts]
        prompts = [case.texts[0].ids[0, :4].tolist(), case.texts[0].ids[0, :7].tolist(), []]
        expected = [case.greedy(text, prompt or [2], 5) for text, prompt in zip(case.texts, prompts)]
        self.assertNotEqual(expected[0], expected[1])
        common = {"model": "decoder", "max_tokens": 5, "temperature": 0, "ignore_eos": True}

        def ids_of(answer):
            self.assertEqual(answer.status_code, 200, answer.text)
            return [choice["token_ids"] for choice in answer.json()["choices"]]

        for encoded in (False, True):
            asked = {"prompt": prompts, "inputs": [self.tensors(each, encoded) for each in given]}
            self.assertEqual(ids_of(client.post("/v1/completions", json={**common, **asked})), expected)
            asked = {"prompt": prompts[1], "inputs": self.tensors(given[1], encoded), "n": 2}
            self.assertEqual(ids_of(client.post("/v1/completions", json={**common, **asked})), [expected[1]] * 2)
        ids = {"name": "input_ids", "datatype": "INT64", "shape": [1, 4], "data": prompts[0]}
        answer = client.post("/v2/models/decoder/infer", json={"inputs": [ids, *self.tensors(given[0])]}).json()
        self.assertEqual(int(np.argmax(answer["outputs"][0]["data"])), expected[0][0])
        names = [each["name"] for each in client.get("/v2/models/decoder").json()["inputs"]]
        self.assertEqual(sorted(names), ["encoder_attention_mask", "encoder_hidden_states", "input_ids"])
        wrong = self.tensors(given[0] | {"encoder_hidden_states": case.texts[0].states.astype(np.float64)})
        flat = self.tensors(given[0] | {"encoder_hidden_states": case.texts[0].states[0]})
        for fields, why in (({}, "takes encoder_.* of each text: give it in inputs"),
                            ({"inputs": self.tensors(given[0])[:1]}, "takes encoder_attention_mask of each text"),
                            ({"inputs": self.tensors(given[0] | {"words": given[0]["encoder_hidden_states"]})}, "'words' is none"),
                            ({"inputs": wrong}, "is float64, expected float32"),
                            ({"inputs": flat}, "has other dims than the model takes"),
                            ({"inputs": [self.tensors(given[0])] * 2}, "inputs are for 2 prompts, expected 1"),
                            ({"inputs": [self.tensors(given[0])[0] | {"data": "###"}]}, "base64|characters|padding|Invalid")):  # fmt: skip
            answer = client.post("/v1/completions", json={**common, "prompt": prompts[0], **fields})
            self.assertEqual(answer.status_code, 400, answer.text)
            self.assertRegex(answer.json()["error"]["message"], why)
        self.assertEqual(client.get("/health/ready").status_code, 200)


if __name__ == "__main__":
    unittest.main()
