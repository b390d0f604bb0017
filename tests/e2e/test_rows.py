"""A step of rows: what each row gets is what its request alone gets, whoever shares the step."""

import copy
import json
import os
import re
import unittest
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.caches import HEADS, SIZE, VOCABULARY, decoder, feed, inputs_of, write_request
from tests.support import BUILD, EndToEnd, program, read_outputs

PAGE = 4
PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
# The sequence of each row, by step, and how many positions it takes.
STEPS = [[(0, 5), (1, 9)], [(2, 1), (0, 1), (1, 3)], [(0, 1), (1, 1), (2, 1)], [(2, 6)], [(1, 1), (2, 1), (0, 1)]]


def text_decoder():
    """The decoder with a mask that it computes itself, of attention_mask and of how long past is."""
    model = decoder()
    graph, add = model.graph, []

    def constant(name, value, element=TensorProto.INT64):
        dims = np.shape(value)
        add.append(helper.make_node("Constant", [], [name], value=helper.make_tensor(name, element, dims, np.ravel(value))))

    def node(op, inputs, output, **attributes):
        add.append(helper.make_node(op, inputs, [output], **attributes))

    constant("zero", 0), constant("one", 1), constant("rows", [0, 1]), constant("column", [1])
    constant("shown", 0.0, TensorProto.FLOAT), constant("hidden", -1e9, TensorProto.FLOAT)
    node("Shape", ["past.0.k"], "past.dims"), node("Shape", ["input_ids"], "ids.dims")
    constant("two", 2)
    node("Gather", ["past.dims", "two"], "past.length", axis=0), node("Gather", ["ids.dims", "one"], "length", axis=0)
    node("Add", ["past.length", "length"], "total")
    node("Range", ["past.length", "total", "one"], "queries"), node("Range", ["zero", "total", "one"], "keys")
    node("Unsqueeze", ["queries", "column"], "queries.column")
    node("LessOrEqual", ["keys", "queries.column"], "causal")
    node("Cast", ["attention_mask"], "mask.bool", to=TensorProto.BOOL)
    constant("mask.places", [1, 2])
    node("Unsqueeze", ["mask.bool", "mask.places"], "mask.rows")
    node("And", ["causal", "mask.rows"], "both")
    node("Where", ["both", "shown", "hidden"], "mask")
    nodes = [*add, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    mask = next(value for value in graph.input if value.name == "mask")
    mask.CopyFrom(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "past + seq"]))
    return model


def merged_decoder():
    """The text decoder as a branch for steps, beside one for prompts that reads no past."""
    whole = text_decoder()
    graph = whole.graph
    outputs = [value.name for value in graph.output]

    def branch(name, nodes):
        made = {out: f"{name}/{out}" for node in nodes for out in node.output}
        for node in nodes:
            node.input[:] = [made.get(v, v) for v in node.input]
            node.output[:] = [made[v] for v in node.output]
        infos = [helper.make_tensor_value_info(made[v], TensorProto.FLOAT, None) for v in outputs]
        return helper.make_graph(nodes, name, [], infos)

    def without_past(node):
        if node.op_type == "Concat" and node.input[0].startswith("past"):
            return helper.make_node("Identity", [node.input[1]], node.output)
        if node.op_type == "Shape" and node.input[0].startswith("past"):
            empty = helper.make_tensor("", TensorProto.INT64, [4], [1, HEADS, 0, SIZE])
            return helper.make_node("Constant", [], node.output, value=empty)
        return copy.deepcopy(node)

    step = branch("step", [copy.deepcopy(node) for node in graph.node])
    prompt = branch("prompt", [without_past(node) for node in graph.node])
    del graph.node[:]
    graph.node.append(helper.make_node("If", ["use_cache_branch"], outputs, then_branch=step, else_branch=prompt))
    graph.input.append(helper.make_tensor_value_info("use_cache_branch", TensorProto.BOOL, [1]))
    mask = next(value for value in graph.input if value.name == "attention_mask")
    mask.CopyFrom(helper.make_tensor_value_info(mask.name, TensorProto.INT64, ["batch", "total"]))
    return whole


def greedy(evaluator, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        ids = np.array([tokens])
        given = {v: feed(v, 0, ids) for v in evaluator.input_names}
        given = {n: np.zeros((1, HEADS, 0, SIZE), np.float32) if v is None else v for n, v in given.items()}
        tokens.append(int(evaluator.run(["logits"], given)[0][0, -1].argmax()))
    return tokens[len(prompt) :]


class Rows(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "model.onnx"
        self.use(HEADS)
        self.ids = np.random.default_rng(6).integers(0, VOCABULARY, (3, 40))

    def use(self, key_heads):
        """A decoder with so many key heads."""
        self.model, self.key_heads = decoder(key_heads=key_heads), key_heads
        onnx.save(self.model, self.file)

    def requests(self):
        """Folders of all rows, and the flag that says of which sequence each is."""
        past, folders, text = [0] * len(self.ids), [], []
        for step in STEPS:
            text.append(",".join(str(sequence) for sequence, _ in step))
            for sequence, count in step:
                folder = self.folder / "requests" / str(len(folders))
                if not folder.exists():
                    ids = self.ids[sequence : sequence + 1, past[sequence] : past[sequence] + count]
                    write_request(folder, self.model, past[sequence], ids)
                folders.append(folder)
                past[sequence] += count
        return folders, ";".join(text), past

    def expected(self, lengths, model=None):
        """The logits of each sequence, run whole by ONNX's own evaluator."""
        model = model or self.model
        all_logits = []
        for sequence, length in enumerate(lengths):
            ids = self.ids[sequence : sequence + 1, :length]
            given = {v.name: feed(v.name, 0, ids) for v in inputs_of(model)}
            empty = np.zeros((1, self.key_heads, 0, SIZE), np.float32)
            given = {n: empty if v is None else v for n, v in given.items()}
            all_logits.append(ReferenceEvaluator(model).run(["logits"], given)[0])
        return all_logits

    def run_rows(self, artifact, *flags):
        """The logits of each sequence, its rows one after the other."""
        folders, sequences, lengths = self.requests()
        out = self.folder / "out"
        self.run_ok("shardrun", artifact, "--inputs", *folders, "--sequences", sequences, "--outputs", out,
                    "--cache", 80, "--check-replicas", *flags)  # fmt: skip
        found = [[] for _ in lengths]
        order = [sequence for step in STEPS for sequence, _ in step]
        for row, sequence in enumerate(order):
            found[sequence].append(read_outputs(out / str(row))[0])
        return [np.concatenate(parts, axis=1) for parts in found], lengths

    def test_rows_get_what_they_get_alone(self):
        for plan in (["--tp", 1], ["--tp", 2], ["--tp", 4], ["--pp", 2], ["--tp", 2, "--pp", 2], ["--tp", 2, "--sp"]):
            with self.subTest(plan=plan):
                artifact = self.folder / "model.shard"
                self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "-o", artifact)
                found, lengths = self.run_rows(artifact, "--repeat", 2)
                self.assert_same_numbers(found, self.expected(lengths))

    def test_bits_do_not_depend_on_who_shares_the_step(self):
        """Rows of different steps, or all of them in one: the same numbers to the last bit."""
        for plan in (["--tp", 1], ["--tp", 2]):
            artifact = self.folder / "model.shard"
            self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "-o", artifact)
            together, lengths = self.run_rows(artifact)
            folders, _, _ = self.requests()
            order = [sequence for step in STEPS for sequence, _ in step]
            out = self.folder / "alone"
            self.run_ok("shardrun", artifact, "--inputs", *folders, "--sequences", ";".join(map(str, order)),
                        "--outputs", out, "--cache", 80)  # fmt: skip
            alone = [[] for _ in lengths]
            for row, sequence in enumerate(order):
                alone[sequence].append(read_outputs(out / str(row))[0])
            for one, other in zip(together, alone):
                np.testing.assert_array_equal(one, np.concatenate(other, axis=1))

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_bits_do_not_depend_on_the_plan(self):
        for key_heads in (HEADS, 2):
            self.use(key_heads)
            found = []
            for plan in ((), ("--tp", 2), ("--tp", 4), ("--pp", 2), ("--cp", 2)):
                artifact = self.folder / "model.shard"
                self.run_ok("shardc", self.file, "--bitwise", *plan, f"--serve={PAGE}", "-o", artifact)
                found.append(self.run_rows(artifact)[0])
            for logits in found[1:]:
                for a, b in zip(logits, found[0], strict=True):
                    np.testing.assert_array_equal(a, b)

    def test_rows_on_a_simulated_cuda(self):
        for plan in (["--tp", 1], ["--tp", 2], ["--pp", 2]):
            with self.subTest(plan=plan), mock.patch.dict(os.environ, SHARDC_BACKENDS=str(PLUGIN.parent)):
                artifact = self.folder / "cuda.shard"
                self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "--target", "cuda", "-o", artifact)
                found, lengths = self.run_rows(artifact, "--device", "cuda", "--repeat", 2)
                self.assert_same_numbers(found, self.expected(lengths))

    def check_parts(self, key_heads, *plan, cuda=False):
        """Ranks of one head have a part of each page: caches of all ranks together are those of one."""
        with self.subTest(key_heads=key_heads, plan=plan, cuda=cuda):
            self.use(key_heads)
            artifact, explained = self.folder / "parts.shard", self.folder / "explained.json"
            target = ["--target", "cuda"] if cuda else []
            self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", *target, "--dims", "batch=8,past=15",
                        "--explain-json", explained, "-o", artifact)  # fmt: skip
            ranks = json.loads(explained.read_text())["ranks"]
            self.assertEqual(sum(rank["kv_bytes"] for rank in ranks), 8 * 16 * key_heads * SIZE * 4 * 4)
            found, lengths = self.run_rows(artifact, "--repeat", 2, *(["--device", "cuda"] if cuda else []))
            self.assert_same_numbers(found, self.expected(lengths))

    def test_ranks_beyond_the_key_heads_have_parts_of_the_keys(self):
        for key_heads, plan in ((1, ["--tp", 2]), (1, ["--tp", 4]), (2, ["--tp", 4]), (1, ["--tp", 2, "--pp", 2]), (1, ["--ep", 2, "--tp", 2]),
                                (HEADS, ["--cp", 2]), (2, ["--cp", 2, "--tp", 2]), (2, ["--cp", 2, "--tp", 4, "--sp"])):
            self.check_parts(key_heads, *plan)
        self.use(1)
        text = self.run_ok("shardc", "verify", self.file, "--tp", 4, f"--serve={PAGE}", "--seed", 3)
        self.assertIn("the plan computes what one rank computes", text)

    def attentions(self, *flags):
        """How many there are in parts, and how many that see all of a page."""
        text = self.run_ok("shardc", self.file, *flags, "--to", "sharded")
        return text.count("onnx.PagedAttentionParts "), text.count("onnx.PagedAttention ")

    def test_parts_are_as_many_as_fit(self):
        """Four ranks hold the same keys, and a page of 6 places has two parts: of two ranks each, and one warning."""
        self.use(1)
        artifact, explained = self.folder / "parts.shard", self.folder / "explained.json"
        done = program("shardc", self.file, "--tp", 4, "--serve=6", "--dims", "batch=8,past=17", "--explain-json", explained, "-o", artifact)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall("warning: .*", done.stderr), [
            "warning: l0.mixed: has pages of 6 positions, which do not divide into 4 parts: 2 ranks hold the same keys and "
            "values, here and in 1 more; choose --serve=N with a multiple of 4"])  # fmt: skip
        ranks = json.loads(explained.read_text())["ranks"]
        self.assertEqual(ranks[0]["kv_bytes"], 8 * 18 * SIZE * 4 * 4 // 2)
        found, lengths = self.run_rows(artifact)
        self.assert_same_numbers(found, self.expected(lengths))

    def test_parts_are_those_that_a_plan_uses(self):
        """Keys that no plan gives to ranks of their own are seen whole; a plan keeps how many parts there are."""
        self.use(1)
        tp = ["--tp", 2, f"--serve={PAGE}"]
        self.assertEqual(self.attentions(*tp), (2, 0))
        saved = self.folder / "saved.json"
        self.assertEqual(self.attentions(*tp, "--pin", "l0.mixed=[{}, {}, {}, {}]", "--save-plan", saved), (1, 1))
        self.assertEqual(self.attentions("--load-plan", saved, f"--serve={PAGE}"), (1, 1))
        self.run_ok("shardc", self.file, "--load-plan", saved, f"--serve={PAGE}", "-o", self.folder / "loaded.shard")
        self.run_ok("shardc", self.file, *tp, "--save-plan", saved, "--to", "sharded")
        plan = json.loads(saved.read_text())
        for op in plan["programs"]["main"]:  # edited: parts of keys are written, and gathered before they are seen
            if op["op"] == "PagedAttentionParts":
                op["splits"] = [split for split in op["splits"] if split["of"] != "operand 1"]
        saved.write_text(json.dumps(plan))
        text = self.run_ok("shardc", "verify", self.file, "--load-plan", saved, f"--serve={PAGE}", "--seed", 3)
        self.assertIn("the plan computes what one rank computes", text)
        found, lengths = self.run_rows(self.folder / "loaded.shard")
        self.assert_same_numbers(found, self.expected(lengths))

    def test_ranks_of_experts_have_parts_whose_batch_is_known(self):
        """--ep-mode auto stays tensor, whatever is said of requests."""
        self.use(1)
        for dims in ([], ["--plan-dims", "batch=8,past=15"]):
            self.assertEqual(self.attentions("--ep", 2, "--tp", 2, f"--serve={PAGE}", *dims), (2, 0))
            self.check_parts(1, "--ep", 2, "--tp", 2, *dims)

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_parts_of_the_keys_on_a_simulated_cuda(self):
        with mock.patch.dict(os.environ, SHARDC_BACKENDS=str(PLUGIN.parent)):
            self.check_parts(1, "--tp", 2, cuda=True)

    def check_rounded(self, kv_type, key_heads, *plan, cuda=False):
        """Beside a decoder that rounds what it reads of its caches in the same way."""
        with self.subTest(kv_type=kv_type, plan=plan, cuda=cuda):
            self.use(key_heads)
            artifact, explained = self.folder / "rounded.shard", self.folder / "explained.json"
            target = ["--target", "cuda"] if cuda else []
            self.run_ok("shardc", self.file, *plan, f"--serve={PAGE}", "--kv-type", kv_type, *target, "--dims", "batch=8,past=15",
                        "--explain-json", explained, "-o", artifact)  # fmt: skip
            ranks = json.loads(explained.read_text())["ranks"]
            self.assertEqual(sum(rank["kv_bytes"] for rank in ranks), 8 * 16 * key_heads * (SIZE + 4) * 4)
            found, lengths = self.run_rows(artifact, *(["--device", "cuda"] if cuda else []))
            self.assert_same_numbers(found, self.expected(lengths, decoder(key_heads=key_heads, kv_type=kv_type)), 2e-3)

    def test_caches_of_8_bits(self):
        for kv_type in ("int8", "f8"):
            self.check_rounded(kv_type, HEADS, "--tp", 1)
            self.check_rounded(kv_type, 1, "--tp", 4)
            self.check_rounded(kv_type, 2, "--tp", 2, "--pp", 2)
        done = program("shardc", self.file, "--kv-type", "int8", "-o", self.folder / "none.shard")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--kv-type requires --serve", done.stderr)
        done = program("shardc", "verify", self.file, "--serve", "--kv-type", "int8")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--kv-type rounds keys and values", done.stderr)
        self.assertNotIn("--kv-type", self.run_ok("shardc", "verify", "--help"))

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_caches_of_8_bits_on_a_simulated_cuda(self):
        with mock.patch.dict(os.environ, SHARDC_BACKENDS=str(PLUGIN.parent)):
            for kv_type in ("int8", "f8"):
                self.check_rounded(kv_type, 1, "--tp", 2, cuda=True)

    def test_an_artifact_says_of_which_rows_it_is(self):
        """So what another sharding of a node would cost is that of the step, and its plan is for no other one."""
        self.use(2)
        artifact, step = self.folder / "rows.shard", [f"--serve={PAGE}", "--kv-type", "int8"]
        self.run_ok("shardc", self.file, "--tp", 2, *step, "--topology", "h100:1x2", "--dims", "batch=8,past=15", "-o", artifact)
        text = self.run_ok("shardc", "explain", artifact, "l0.q.flat")
        self.assertIn("the best alternative", text)
        self.run_ok("shardc", self.file, "--load-plan", artifact, *step, "-o", self.folder / "same.shard")
        for given, said in (([f"--serve={PAGE}"], "--serve=4"), ([], "no --serve"), (["--serve=8", *step[1:]], "--serve=8 --kv-type int8")):
            done = program("shardc", self.file, "--load-plan", artifact, *given, "-o", self.folder / "other.shard")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"was made with --serve=4 --kv-type int8, and this is with {said}; give the same", done.stderr)

    def test_a_plan_of_something_else_is_an_error(self):
        """Whatever stands where keys have their parts."""
        self.use(1)
        file, bad = self.folder / "plan.json", self.folder / "bad.json"
        self.run_ok("shardc", self.file, "--tp", 4, f"--serve={PAGE}", "--save-plan", file, "-o", self.folder / "one.shard")
        for name, value in (("splits", 3), ("splits", [7]), ("splits", [{"of": 5}]), ("op", None), ("node", 3)):
            plan = json.loads(file.read_text())
            ops = [op for ops in plan["programs"].values() for op in ops if op["op"] == "PagedAttentionParts"]
            self.assertTrue(ops)
            ops[0][name] = value
            bad.write_text(json.dumps(plan))
            done = program("shardc", self.file, "--load-plan", bad, f"--serve={PAGE}", "-o", self.folder / "two.shard")
            self.assertEqual(done.returncode, 2, f"{name} {value}: {done.stderr}")
            self.assertIn(str(bad), done.stderr)

    def test_one_sequence_as_with_a_state(self):
        artifact = self.folder / "rows.shard"
        self.run_ok("shardc", self.file, f"--serve={PAGE}", "-o", artifact)
        folders = [write_request(self.folder / f"r{past}", self.model, past, self.ids[:1, past:end])
                   for past, end in ((0, 6), (6, 7), (7, 8))]  # fmt: skip
        self.run_ok("shardrun", artifact, "--inputs", *folders, "--cache", 8, "--outputs", self.folder / "o")
        found = np.concatenate([read_outputs(self.folder / "o" / str(i))[0] for i in range(3)], axis=1)
        self.assert_same_numbers([found], [logits[:, :8] for logits in self.expected([8])])
        done = program("shardrun", artifact, "--inputs", *folders, "--cache", 4)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"row 0 needs pages for 6 positions more, and there are too few in a pool of 1")

    def test_texts_get_what_they_get_alone(self):
        """A server of many texts, whose steps have rows of several: each text is that of a greedy search of its own."""
        file = self.folder / "text.onnx"
        onnx.save(text_decoder(), file)
        evaluator = ReferenceEvaluator(text_decoder())
        rng = np.random.default_rng(8)
        texts = [{"prompt": rng.integers(0, VOCABULARY, n).tolist(), "tokens": m} for n, m in ((3, 6), (11, 4), (1, 9), (20, 3))]
        texts.append({"prompt": texts[3]["prompt"][:17] + [1], "tokens": 5})
        (self.folder / "texts.json").write_text(json.dumps(texts))
        for plan, room in ((["--tp", 1], 400), (["--tp", 2], 48), (["--pp", 2], 400), (["--dp", 2], 400), (["--pp", 2, "--dp", 2, "--tp", 2], 400)):
            with self.subTest(plan=plan):
                artifact = self.folder / "text.shard"
                self.run_ok("shardc", file, *plan, f"--serve={PAGE}", "-o", artifact)
                out = self.folder / "out.json"
                self.run_ok("shardrun", artifact, "--texts", self.folder / "texts.json", "--cache", room, "--outputs", out)
                for asked, found in zip(texts, json.loads(out.read_text()), strict=True):
                    self.assertEqual(found["tokens"], greedy(evaluator, asked["prompt"], asked["tokens"]))
                    self.assertEqual(sorted(found["times"]), found["times"])

    def test_sizes_are_those_of_requests(self):
        """What users say of requests holds for the step that does them: 8 rows, 8 tokens, 8 * 4 pages of 4 positions."""
        text = self.run_ok("shardc", self.file, "--tp", 2, f"--serve={PAGE}", "--explain", "--dims", "batch=8,past=15")
        bytes_of_state = 8 * 4 * PAGE * HEADS * SIZE * 4  # of one cache
        ranks = re.search(r"KV caches ([\d.]+) KiB", text)
        caches = sum(value.name.startswith("past") for value in self.model.graph.input)
        self.assertAlmostEqual(float(ranks[1]), caches * bytes_of_state / 2 / 1024, delta=0.06)
        self.assertNotIn("give --dims", text)
        self.run_ok("shardc", self.file, "--auto", "--topology", "cpu:1x2", f"--serve={PAGE}", "--dims", "batch=8,past=15",
                    "-o", self.folder / "auto.shard")  # fmt: skip
        done = program("shardc", self.file, f"--serve={PAGE}", "--explain", "--dims", "words=8")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--dims words: the model has no such size; it has batch seq past", done.stderr)

    def test_verify_runs_requests_as_steps(self):
        for model in (self.model, text_decoder()):
            onnx.save(model, self.file)
            text = self.run_ok("shardc", "verify", self.file, "--tp", 2, "--pp", 2, f"--serve={PAGE}", "--seed", 3)
            self.assertIn("the plan computes what one rank computes", text)
            self.assertNotIn("no step does it", text)

    def test_a_merged_decoder_goes_on_from_a_past(self):
        """Also from an empty one: the branch for steps is what rows run."""
        onnx.save(merged_decoder(), self.file)
        text = self.run_ok("shardc", "verify", self.file, "--tp", 2, f"--serve={PAGE}", "--seed", 3)
        self.assertIn("the plan computes what one rank computes", text)
        self.run_ok("shardc", self.file, f"--serve={PAGE}", "-o", self.folder / "merged.shard")
        (self.folder / "texts.json").write_text(json.dumps([{"prompt": [3, 1, 4], "tokens": 5}]))
        out = self.folder / "out.json"
        self.run_ok("shardrun", self.folder / "merged.shard", "--texts", self.folder / "texts.json", "--cache", 16, "--outputs", out)
        expected = greedy(ReferenceEvaluator(text_decoder()), [3, 1, 4], 5)
        self.assertEqual(json.loads(out.read_text())[0]["tokens"], expected)

    def test_a_node_that_mixes_positions_is_named(self):
        found = json.loads(self.run_ok("shardc", "check", self.file, "--json"))
        self.assertEqual(found["recognised"]["step of rows"], 1)
        model = decoder()
        model.graph.node.append(helper.make_node("ReduceMean", ["logits"], ["mean"], axes=[1], name="the-mean"))
        model.graph.output.append(helper.make_tensor_value_info("mean", TensorProto.FLOAT, None))
        model.opset_import[0].version = 17
        onnx.save(model, self.file)
        found = json.loads(self.run_ok("shardc", "check", self.file, "--json"))
        (note,) = [note for note in found["notes"] if note["kind"] == "rows_apart"]
        self.assertEqual(note["where"], ["the-mean"])
        done = program("shardc", self.file, "--serve", "-o", self.folder / "model.shard")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "the-mean.* has no place in a step of rows of different lengths.*: a step has one row")

    def test_wrong_texts_say_what_is_expected(self):
        artifact = self.folder / "rows.shard"
        self.run_ok("shardc", self.file, f"--serve={PAGE}", "-o", artifact)
        file = self.folder / "texts.json"
        for text in ("", "[]", '[{"prompt": 1, "tokens": 2}]', '[{"prompt": [1]}]', '[{"prompt": ["a"], "tokens": 2}]'):
            with self.subTest(text=text):
                file.write_text(text)
                done = program("shardrun", artifact, "--texts", file, "--cache", 8)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn('expected [{"prompt": [numbers], "tokens": a number}, ...]', done.stderr)
        for more, why in (('"deadline_ms": -3', 'expected .*"deadline_ms", 0 or more'), ('"nope": 3', 'a text has "nope": expected prompt, tokens')):
            file.write_text(f'[{{"prompt": [1], "tokens": 2, {more}}}]')
            done = program("shardrun", artifact, "--texts", file, "--cache", 8)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertRegex(done.stderr, why)
        file.write_text('[{"prompt": [1], "tokens": 2}]')
        done = program("shardrun", artifact, "--texts", file, "--cache", 8)
        self.assertIn("'mask' (float32 [1, 1, tokens of a step", done.stderr)
        done = program("shardrun", artifact, "--texts", file)
        self.assertIn("needs --cache", done.stderr)

    def test_wrong_sequences_say_what_is_expected(self):
        artifact = self.compile(self.file, 1)
        folder = write_request(self.folder / "r", self.model, 0, self.ids[:1, :3])
        for text in ("0,", "a", "0;;1", "0,1"):
            with self.subTest(text=text):
                done = program("shardrun", artifact, "--inputs", folder, "--cache", 8, "--sequences", text)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn("--sequences", done.stderr)
        done = program("shardrun", artifact, "--inputs", folder, "--cache", 8, "--sequences", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("compiled with --serve", done.stderr)
