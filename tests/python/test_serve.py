"""`shardrt serve`: what clients of OpenAI and KServe ask, against a plain loop over ONNX Runtime."""

import gzip
import shutil
import subprocess
import sys
import time
import unittest

import httpx
import numpy as np
import onnx
import openai
from onnx import helper, numpy_helper

from tests.e2e.caches import VOCABULARY
from tests.e2e.test_rows import PAGE
from tests.python import support
from tests.python.http_server import Asked, serve
from tests.python.served_texts import ServedTexts
from tests.python.small_tokenizers import byte_fallback, letters, words

import shardrt  # isort: skip
from shardrt.serve.events import event, in_json  # isort: skip
from shardrt.serve.problems import Problem  # isort: skip
from shardrt.serve.token_texts import TokenTexts  # isort: skip

LETTERS = letters(VOCABULARY)
PROMPT = [5, 7, 11]


def texts_of(ids):
    return LETTERS.decode(ids)


class Completions(Asked):
    def expected(self, prompt, count):
        """Up to the token that ends a text."""
        ids = self.reference.greedy(prompt, count)
        return ids[: ids.index(1) + 1] if 1 in ids else ids

    def test_prompts_of_ids_and_of_text(self):
        for prompt, ids in ((PROMPT, PROMPT), ("hello", LETTERS.encode("hello").ids)):
            answer = self.ask("/v1/completions", prompt=prompt, max_tokens=9, temperature=0)
            made = self.expected(ids, 9)
            (choice,) = answer["choices"]
            self.assertEqual(choice["text"], texts_of(made))
            self.assertEqual(choice["finish_reason"], "stop" if made[-1] == 1 else "length")
            self.assertEqual(answer["usage"], {"prompt_tokens": len(ids), "completion_tokens": len(made),
                                               "total_tokens": len(ids) + len(made)})  # fmt: skip
            self.assertEqual((answer["object"], answer["model"]), ("text_completion", "served"))
        several = self.ask("/v1/completions", prompt=["a", "hello", "zzz"], max_tokens=5, temperature=0, echo=True)
        self.assertEqual([choice["text"] for choice in several["choices"]],
                         [text + texts_of(self.expected(LETTERS.encode(text).ids, 5)) for text in ("a", "hello", "zzz")])  # fmt: skip
        self.assertEqual([choice["index"] for choice in several["choices"]], [0, 1, 2])

    def test_seeds_and_n(self):
        fields = {"prompt": PROMPT, "max_tokens": 8, "temperature": 1.3, "seed": 5, "n": 3, "ignore_eos": True}
        answer = self.ask("/v1/completions", **fields)
        for i, choice in enumerate(answer["choices"]):
            ids, sampling = list(PROMPT), shardrt.Sampling(temperature=1.3, seed=5, stream=i)
            for _ in range(8):
                ids.append(sampling.choose(self.reference.logprobs(ids), ids, len(ids))[0])
            self.assertEqual(choice["text"], texts_of(ids[3:]))
        self.assertEqual(answer["choices"], self.ask("/v1/completions", **fields)["choices"])
        fields["seed"] = 6
        self.assertNotEqual(answer["choices"], self.ask("/v1/completions", **fields)["choices"])

    def test_stops(self):
        whole = texts_of(self.reference.greedy(PROMPT, 9))
        stop = whole[3:5]
        for fields in ({"stop": stop}, {"stop": ["?" * 9, stop]}):
            answer = self.ask("/v1/completions", prompt=PROMPT, max_tokens=9, temperature=0, ignore_eos=True, **fields)
            self.assertEqual(answer["choices"][0]["text"], whole[: whole.index(stop)])
            self.assertEqual(answer["choices"][0]["finish_reason"], "stop")
        token = self.reference.greedy(PROMPT, 9)[2]
        answer = self.ask("/v1/completions", prompt=PROMPT, max_tokens=9, temperature=0, stop_token_ids=[token])
        made = self.reference.greedy(PROMPT, 9)
        self.assertEqual(answer["choices"][0]["text"], texts_of(made[: made.index(token)]))

    def test_logprobs(self):
        answer = self.ask("/v1/completions", prompt=PROMPT, max_tokens=4, temperature=0, logprobs=2, ignore_eos=True)
        found, ids = answer["choices"][0]["logprobs"], list(PROMPT)
        for i, token in enumerate(self.reference.greedy(PROMPT, 4)):
            logprobs = self.reference.logprobs(ids)
            self.assertEqual(found["tokens"][i], LETTERS.id_to_token(token))
            self.assertAlmostEqual(found["token_logprobs"][i], logprobs[token], places=4)
            best = np.argsort(-logprobs)[:2]
            self.assertEqual(list(found["top_logprobs"][i]), [LETTERS.id_to_token(each) for each in best])
            ids.append(token)
        self.assertEqual(found["text_offset"][0], 0)

    def test_tokens_beside_logprobs(self):
        """What each adds to the text, other tokens at its place included; parts of a character as their bytes."""
        folder = self.folder / "bytes"
        folder.mkdir()
        byte_fallback().save(str(folder / "tokenizer.json"))
        tokenizer = shardrt.Tokenizer.from_file(folder)
        ids = tokenizer.encode("on at€")
        texts, found, offsets = TokenTexts(tokenizer, ids[:2], 7), [], []
        for token in ids[2:]:
            found.append(texts.of(token))
            self.assertEqual(len({texts.of(each)[0] for each in range(4, 260)}), 256, "bytes are told apart")
            offsets.append(texts.offset)
            texts.push(token)
        self.assertEqual([text for text, _ in found], [" at", "\\xe2", "\\x82", "\\xac"])
        self.assertEqual(b"".join(own for _, own in found).decode(), " at€")
        self.assertEqual([*offsets, texts.offset], [7, 10, 10, 10, 11])
        self.assertEqual(TokenTexts(None).of(5), ("token_id:5", b"token_id:5"))

    def test_logit_bias(self):
        answer = self.ask("/v1/completions", prompt=PROMPT, max_tokens=3, temperature=0, logit_bias={"7": 1000})
        self.assertEqual(answer["choices"][0]["text"], texts_of([7, 7, 7]))

    def test_chat(self):
        messages = [{"role": "system", "content": "be "}, {"role": "user", "content": [{"type": "text", "text": "kind"}]}]
        ids = LETTERS.encode("be kind:").ids
        answer = self.ask("/v1/chat/completions", messages=messages, max_completion_tokens=6, temperature=0, logprobs=True,
                          top_logprobs=1)  # fmt: skip
        made, (choice,) = self.expected(ids, 6), answer["choices"]
        self.assertEqual(choice["message"], {"role": "assistant", "content": texts_of(made)})
        self.assertEqual(answer["usage"]["prompt_tokens"], len(ids))
        self.assertEqual([each["token"] for each in choice["logprobs"]["content"]], [LETTERS.id_to_token(each) for each in made])
        self.assertEqual(choice["logprobs"]["content"][0]["top_logprobs"][0]["token"], LETTERS.id_to_token(made[0]))
        # Without a limit, up to the positions that the model knows.
        answer = self.ask("/v1/chat/completions", messages=messages, temperature=0)
        self.assertLessEqual(answer["usage"]["total_tokens"], 200)

    def test_openai_client(self):
        client = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", max_retries=0)
        self.addCleanup(client.close)
        self.assertEqual([model.id for model in client.models.list()], ["served"])
        self.assertEqual(client.models.retrieve("served").id, "served")
        made = self.expected(PROMPT, 7)
        whole = client.completions.create(model="served", prompt=PROMPT, max_tokens=7, temperature=0)
        self.assertEqual(whole.choices[0].text, texts_of(made))
        parts = list(client.completions.create(model="served", prompt=PROMPT, max_tokens=7, temperature=0, stream=True,
                                               stream_options={"include_usage": True}))  # fmt: skip
        self.assertEqual("".join(part.choices[0].text for part in parts[:-1]), texts_of(made))
        self.assertEqual(parts[-1].usage.completion_tokens, len(made))
        self.assertEqual(parts[-2].choices[0].finish_reason, whole.choices[0].finish_reason)
        messages = [{"role": "user", "content": "hello"}]
        chat = client.chat.completions.create(model="served", messages=messages, max_tokens=5, temperature=0, n=2)
        stream = client.chat.completions.create(model="served", messages=messages, max_tokens=5, temperature=0, n=2, stream=True)
        texts = ["", ""]
        for part in stream:
            for choice in part.choices:
                texts[choice.index] += choice.delta.content or ""
        self.assertEqual(texts, [choice.message.content for choice in chat.choices])
        self.assertEqual(texts[0], texts_of(self.expected(LETTERS.encode("hello:").ids, 5)))
        with self.assertRaises(openai.BadRequestError) as caught:
            client.completions.create(model="served", prompt=PROMPT, max_tokens=500)
        self.assertIn("room for 200", str(caught.exception))
        with self.assertRaises(openai.NotFoundError):
            client.completions.create(model="other", prompt="a")
        with self.assertRaises(openai.NotFoundError):
            client.embeddings.create(model="served", input="a")

    def test_kserve(self):
        tensor = {"name": "input_ids", "shape": [2, 3], "datatype": "INT64", "data": [*PROMPT, 3, 2, 9]}
        answer = self.client.post("/v2/models/served/infer", json={"id": "x", "inputs": [tensor]}).json()
        self.assertEqual((answer["model_name"], answer["id"]), ("served", "x"))
        (output,) = answer["outputs"]
        self.assertEqual((output["name"], output["datatype"], output["shape"]), ("logits", "FP32", [2, VOCABULARY]))
        for logits, ids in zip(np.reshape(output["data"], output["shape"]), (PROMPT, [3, 2, 9])):
            logprobs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
            np.testing.assert_allclose(logprobs, self.reference.logprobs(ids), atol=1e-4)
        self.assertEqual(self.client.get("/v2/models/served").json()["inputs"][0]["name"], "input_ids")
        self.assertTrue(self.client.get("/v2/models/served/versions/1/ready").json()["ready"])
        self.assertEqual(self.client.get("/v2/models/none/ready").status_code, 404)
        for why, change in (("expected one of", {"datatype": "INT3"}), ("cannot reshape", {"shape": [4, 4]}), ("negative", {"shape": [-1, 3]}),
                            ("no token -1: expected 0 to 39", {"data": [1, 2, 3, 4, 5, -1]}), ("no token 40", {"data": [40] * 6}),
                            ("expected integers", {"data": [0.5] * 6}), ("takes input_ids", {"name": "other"}),
                            ("input 'input_ids'.* out of the range of float32", {"datatype": "FP32", "data": [1e300] * 6}),
                            ("inhomogeneous|expected numbers", {"data": [[1], 2, 3, 4, 5, 6]})):  # fmt: skip
            answer = self.client.post("/v2/models/served/infer", json={"inputs": [tensor | change]})
            self.assertEqual(answer.status_code, 400)
            self.assertRegex(answer.json()["error"]["message"], why)

    def test_kserve_fields_that_would_change_the_answer(self):
        tensor = {"name": "input_ids", "shape": [1, 3], "datatype": "INT64", "data": PROMPT}
        ask = lambda **fields: self.client.post("/v2/models/served/infer", json={"inputs": [tensor], **fields})
        plain = {"parameters": {"binary_data_output": False, "priority": 3}, "outputs": [{"name": "logits", "parameters": {"binary_data": False}}],
                 "inputs": [tensor | {"parameters": {"content_type": "np"}}]}  # fmt: skip
        self.assertEqual(ask(**plain).json()["outputs"], ask().json()["outputs"])
        output = {"name": "logits"}
        for why, fields in (("^inputs.0.dtype: there is no such field", {"inputs": [tensor | {"dtype": "INT32"}]}),
                            ("^outputs.0.top: there is no such field", {"outputs": [output | {"top": 3}]}),
                            ("^stream: there is no such field", {"stream": True}),
                            ("^parameters: there is no parameter temperature", {"parameters": {"temperature": 2}}),
                            ("^parameters: binary_data_output is not supported", {"parameters": {"binary_data_output": True}}),
                            ("^parameters: sequence_id is not supported", {"parameters": {"sequence_id": 7}}),
                            ("^outputs.0.parameters: binary_data is not supported", {"outputs": [output | {"parameters": {"binary_data": True}}]}),
                            ("^outputs.0.parameters: classification is not supp", {"outputs": [output | {"parameters": {"classification": 2}}]}),
                            ("^inputs.0.parameters: there is no parameter binary_data_size",
                             {"inputs": [{**tensor, "parameters": {"binary_data_size": 24}, "data": None}]}),
                            ("^inputs.0.parameters: there is no parameter shared_memory_region",
                             {"inputs": [tensor | {"parameters": {"shared_memory_region": "a"}}]})):  # fmt: skip
            answer = ask(**fields)
            self.assertEqual(answer.status_code, 400, answer.text)
            self.assertRegex(answer.json()["error"]["message"], why)
        binary = b'{"inputs": []}' + bytes(24)
        answer = self.client.post("/v2/models/served/infer", content=binary, headers={"Inference-Header-Content-Length": "14"})
        self.assertEqual((answer.status_code, "Inference-Header" in answer.json()["error"]["message"]), (400, True), answer.text)

    def test_mistakes(self):
        refused = lambda why, **fields: self.refused("/v1/completions", 400, why, **{"prompt": PROMPT, **fields})
        refused("temperature: .*greater than or equal to 0", temperature=-1)
        refused("there is no field temprature", temprature=1)
        refused("suffix is not supported", suffix="x")
        refused("no tokens", prompt="")
        refused("there is no prompt", prompt=[])
        refused("n is for 1000, expected 128", n=1000)
        refused("logprobs is for 99", logprobs=99)
        refused("stop is for 17", stop=["a"] * 17)
        refused("a stop string is empty", stop="")
        refused("room for 200", max_tokens=198)
        refused("room for 200", prompt=[3] * 300)
        refused("logit_bias is for token 4000", logit_bias={"4000": 1})
        refused("stream_options is for stream", stream_options={"include_usage": True})
        refused("prompt", prompt={"a": 1})
        refused("echo with logprobs", echo=True, logprobs=1)
        self.refused("/v1/completions", 404, "no model 'x'", prompt="a", model="x")
        self.refused("/v1/chat/completions", 400, "messages", messages=[])
        self.refused("/v1/chat/completions", 400, "part of type image_url",
                     messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])  # fmt: skip
        refused("there is no token 40: expected 0 to 39", prompt=[3, 40])
        refused("there is no token 4611686018427387904", prompt=[2**62])
        refused("expected a text", prompt=[-1])
        for answer, status, why in ((self.client.get("/nowhere"), 404, "there is no path /nowhere"),
                                    (self.client.get("/v1/completions"), 405, "GET is no method of /v1/completions, expected POST")):  # fmt: skip
            self.assertEqual((answer.status_code, answer.json()["error"]["message"]), (status, why))
        refused("stop_token_ids has token 40, expected 0 to 39", stop_token_ids=[3, 40])
        refused("stop_token_ids has token -1, expected 0 to 39", stop_token_ids=[-1])
        for message in ({"role": "user", "content": None}, {"role": "user"}, {"role": "assistant", "content": None}):
            self.refused("/v1/chat/completions", 400, f"^messages.0: a message of role {message['role']} has no content, expected a text$",
                         messages=[message])  # fmt: skip
        self.ask("/v1/chat/completions", messages=[{"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]},
                                                   {"role": "user", "content": "a"}], max_tokens=1)  # fmt: skip
        for body in (b"", b"{", b"[]", b'"a"', b'{"model": NaN}'):
            answer = self.post(body)
            self.assertEqual(answer.status_code, 400, body[:20])
            self.assertTrue(answer.json()["error"]["message"])

    def post(self, body, **headers):
        return self.client.post("/v1/completions", content=body, headers={"content-type": "application/json", **headers})

    def test_bodies_that_are_no_json(self):
        request = b'{"model": "served", "prompt": "%s", "max_tokens": 1}'
        for body, why in ((request % b"\xe9", "it is not UTF-8: byte 0xe9 at 31"), (b"[" * 100000, "it is nested too deeply"),
                          (b'"\xff"', "it is not UTF-8: byte 0xff at 1"),
                          (request[:-1] + b', "seed": ' + b"9" * 5000 + b"}", "a number has too many digits")):  # fmt: skip
            answer = self.post(body)
            self.assertEqual((answer.status_code, answer.json()["error"]["message"]), (400, f"the request is no JSON: {why}"))
        answer = self.post(gzip.compress(request % b"a"), **{"content-encoding": "gzip"})
        self.assertEqual(answer.status_code, 400)
        self.assertEqual(answer.json()["error"]["message"],
                         "the request is no JSON: it is encoded as gzip, which is not supported: send it as it is")  # fmt: skip

    def test_heads(self):
        for path in ("/", "/health/live", "/health/ready", "/v2/health/live", "/status", "/metrics", "/v1/models", "/v2/models/served"):
            answer = self.client.head(path)
            self.assertEqual((answer.status_code, answer.content), (200, b""), path)
        self.assertEqual(self.client.head("/v1/models/x").status_code, 404)
        answer = self.client.request("HEAD", "/v1/completions")
        self.assertEqual((answer.status_code, answer.headers["allow"]), (405, "POST"))
        self.assertEqual(self.client.get("/openapi.json").status_code, 200)

    def test_half_a_surrogate_pair(self):
        half, whole = r"\ud800", "half of a surrogate pair"
        tensor = r'{"name": "input_ids", "shape": [1, 1], "datatype": "INT64", "data": [3]}'
        for path, body, status, why in (("v1/completions", f'{{"model": "{half}", "prompt": "a"}}', 404, "no model '[?]'"),
                                        ("v1/completions", f'{{"model": "served", "prompt": "{half}"}}', 400, whole),
                                        ("v2/models/served/infer", f'{{"id": "{half}", "inputs": [{tensor}]}}', 400, f"id: .*{whole}"),
                                        ("v2/models/served/infer", f'{{"inputs": [{tensor.replace("INT64", half)}]}}', 400,
                                         "datatype '[?]', expected one of")):  # fmt: skip
            answer = self.client.post(path, content=body, headers={"content-type": "application/json"})
            self.assertEqual(answer.status_code, status, answer.text)
            self.assertRegex(answer.json()["error"]["message"], why)

    def metrics(self):
        lines = self.client.get("/metrics").text.splitlines()
        return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))

    def test_metrics_and_page(self):
        self.ask("/v1/completions", prompt=PROMPT, max_tokens=3, temperature=0, ignore_eos=True)
        found = self.client.get("/metrics")
        self.assertTrue(found.headers["content-type"].startswith("text/plain"))
        values, labels = self.metrics(), '{model_name="served"}'
        deadline = time.monotonic() + 20  # an answer is there with its last token, a little before the text is over
        while values[f"vllm:num_requests_running{labels}"] != "0" and time.monotonic() < deadline:
            values = self.metrics()
        self.assertEqual(values[f"vllm:num_requests_running{labels}"], "0")
        self.assertGreaterEqual(int(values[f"vllm:generation_tokens_total{labels}"]), 3)
        self.assertEqual(values[f"shardrt:up{labels}"], "1")
        self.assertEqual(values[f"shardrt:ranks{labels}"], "2")
        self.assertEqual(values[f"shardrt:ranks_up{labels}"], "2")
        self.assertGreater(int(values[f"shardrt:pages{labels}"]), 0)
        self.assertLessEqual(int(values[f"shardrt:pages_free{labels}"]), int(values[f"shardrt:pages{labels}"]))
        self.assertGreaterEqual(int(values['shardrt:http_requests_total{path="/v1/completions",status="200"}']), 1)
        self.assertGreaterEqual(int(values['vllm:time_to_first_token_seconds_bucket{model_name="served",le="+Inf"}']), 1)
        labels = 'model_name="served"'
        steps = int(values[f"shardrt:steps_total{{{labels}}}"])
        met = int(values[f'shardrt:collectives_total{{{labels},axes="tp"}}'])
        self.assertEqual(met % (2 * steps), 0, "two ranks, as often in each step")
        self.assertGreater(met, 0)
        spent = {name: float(values[f"shardrt:{name}_seconds_total{{{labels},{rest}}}"])
                 for name, rest in (("collective", 'axes="tp"'), ("stage_busy", 'stage="0"'), ("bubble", 'stage="0"'))}  # fmt: skip
        self.assertLess(0, spent["collective"])
        self.assertLess(spent["collective"], spent["stage_busy"])
        active = float(values[f"shardrt:active_seconds_total{{{labels}}}"])
        self.assertLess(spent["stage_busy"], 2 * active)
        self.assertAlmostEqual(spent["bubble"], 2 * active - spent["stage_busy"], delta=1e-3)
        page = self.client.get("/")
        self.assertIn("text/html", page.headers["content-type"])
        self.assertNotRegex(page.text, r"(src|href)=\"?https?:")
        status = self.client.get("/status").json()
        self.assertEqual((status["mesh"], status["world_size"], status["unavailable"]), ({"tp": 2}, 2, None))
        self.assertEqual(self.client.get("/health/live").status_code, 200)
        self.assertEqual(self.client.get("/v2/health/ready").json(), {"ready": True})


class Impossible(ServedTexts):
    def test_logprobs_of_what_is_impossible(self):
        """Most tokens have no probability at all, which JSON has no number for."""
        model, few = onnx.load(self.model / "model.onnx"), np.full(VOCABULARY, -np.inf, np.float32)
        few[:5] = 0
        next(node for node in model.graph.node if "logits" in node.output).output[:] = ["all.logits"]
        model.graph.initializer.append(numpy_helper.from_array(few, "few"))
        model.graph.node.append(helper.make_node("Add", ["all.logits", "few"], ["logits"]))
        onnx.save(model, self.folder / "few.onnx")
        artifact = self.folder / "few.shard"
        self.run_ok("shardc", self.folder / "few.onnx", f"--serve={PAGE}", "-o", artifact)
        letters(VOCABULARY).save(str(self.folder / "tokenizer.json"))
        (self.folder / "tokenizer_config.json").write_text((self.model / "tokenizer_config.json").read_text())
        server = serve(self, artifact, "--name", "few", "--positions", 400)
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
        self.addCleanup(client.close)
        asked = {"model": "few", "max_tokens": 2, "temperature": 0}
        for stream in (False, True):
            answer = client.completions.create(**asked, prompt=PROMPT, logprobs=7, stream=stream)
            for part in answer if stream else [answer]:
                self.assertEqual(sorted(part.choices[0].logprobs.top_logprobs[0].values())[:2], [-9999, -9999])
            messages = [{"role": "user", "content": "a"}]
            answer = client.chat.completions.create(**asked, messages=messages, logprobs=True, top_logprobs=7, stream=stream)
            found = [part.choices[0].logprobs for part in (answer if stream else [answer])]
            self.assertEqual([each.logprob for each in [each for each in found if each][0].content[0].top_logprobs][5:], [-9999, -9999])
        with self.assertRaises(ValueError):
            event({"a": -np.inf})
        with self.assertRaises(Problem):
            in_json(float("nan"))


class Words(Asked):
    """Tokens that have the space in front of them."""

    WORDS = words(VOCABULARY)

    def test_a_text_begins_with_its_space(self):
        self.WORDS.save(str(self.folder / "tokenizer.json"))
        server = serve(self, self.artifact, "--tokenizer", self.folder, "--positions", 400)
        made = self.reference.greedy(PROMPT, 5)
        whole, before = self.WORDS.decode(PROMPT + made), self.WORDS.decode(PROMPT)
        for fields, expected in (({}, whole[len(before) :]), ({"echo": True}, whole)):
            asked = {"model": "served", "prompt": PROMPT, "max_tokens": 5, "temperature": 0, "ignore_eos": True, **fields}
            answer = self.client.post(f"{server.url}/v1/completions", json=asked).json()
            self.assertEqual(answer["choices"][0]["text"], expected)
            parts = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0)
            self.addCleanup(parts.close)
            ignored = {"ignore_eos": asked.pop("ignore_eos")}
            self.assertEqual("".join(part.choices[0].text for part in parts.completions.create(**asked, stream=True, extra_body=ignored)),
                             expected)  # fmt: skip


class Few(Asked):
    FLAGS = ("--positions", 400, "--most-waiting", 1, "--name", "served")

    def test_more_texts_than_may_ever_wait(self):
        """Not 429: who tries again would for ever."""
        self.refused("/v1/completions", 400, "2 texts are asked for at once, and 1 may wait", prompt=PROMPT, n=2, max_tokens=2)
        self.ask("/v1/completions", prompt=PROMPT, max_tokens=2)


class Moved(ServedTexts):
    def test_the_models_files_are_elsewhere(self):
        """Weights, tokenizer and config are read there."""
        artifact, files = self.folder / "apart/served.shard", self.folder / "files"
        shutil.copytree(self.artifact, artifact)
        shutil.copytree(self.model, files, ignore=shutil.ignore_patterns("*.shard"))
        with self.assertRaisesRegex(AssertionError, "model.onnx"):
            serve(self, artifact)
        server = serve(self, artifact, "--weights-root", files, "--positions", 400)
        asked = {"model": "served", "prompt": PROMPT, "max_tokens": 5, "temperature": 0, "ignore_eos": True}
        answer = httpx.post(f"{server.url}/v1/completions", json=asked, timeout=60).json()
        expected = letters(VOCABULARY).decode(self.reference.greedy(PROMPT, 5))
        self.assertEqual(answer["choices"][0]["text"], expected)
        refused = httpx.post(f"{server.url}/v1/completions", json=asked | {"max_tokens": 198}, timeout=60).json()
        self.assertIn("room for 200", refused["error"]["message"])
        with shardrt.Generator(artifact, weights_root=files) as generator:
            self.assertEqual(generator.generate([PROMPT], max_tokens=5, ignore_eos=True)[0].text, expected)
            self.assertEqual(generator.context, 200)


class Network(ServedTexts):
    def test_who_may_ask(self):
        server = serve(self, self.artifact, "--positions", 400, "--host", "0.0.0.0")
        self.assertIn("warning: whoever reaches 0.0.0.0 may ask: give --api-key", server.stderr.readline())
        port = server.url.rsplit(":", 1)[1]
        done = subprocess.run([sys.executable, "-m", "shardrt", "serve", self.artifact, "--port", port], cwd=support.PACKAGES[0],
                              capture_output=True, text=True, timeout=60)  # fmt: skip
        self.assertEqual(done.returncode, 2)
        self.assertIn(port, done.stderr)
        self.assertNotIn("Traceback", done.stderr)


class Keys(Asked):
    FLAGS = ("--positions", 400, "--api-key", "secret", "--name", "served")

    def test_a_key(self):
        for headers in ({}, {"authorization": "Bearer other"}, {"authorization": "secret"}, {"authorization": "Basic secret"},
                        {"authorization": "Bearer"}, {"authorization": "Bearersecret"}):  # fmt: skip
            for path in ("/v1/models", "/metrics", "/status"):
                answer = self.client.get(path, headers=headers)
                self.assertEqual(answer.status_code, 401)
                self.assertEqual(answer.headers["www-authenticate"], "Bearer")
        for scheme in ("Bearer", "bearer", "BEARER "):
            self.assertEqual(self.client.get("/v1/models", headers={"authorization": f"{scheme} secret"}).status_code, 200)
        self.assertEqual(self.client.get("/health/ready").status_code, 200)


if __name__ == "__main__":
    unittest.main()
