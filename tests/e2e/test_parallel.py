"""Pipeline, sequence, context, expert and data parallelism, alone and together: each plan gives what one rank gives."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.plans import PlanTest
from tests.support import data_sets, model_file, program, read_outputs

PLANS = (
    "--pp 2",
    "--pp 4 --tp 2",
    "--tp 2 --sp",
    "--tp 3 --sp",
    "--cp 2",
    "--cp 3 --tp 2 --sp",
    "--ep 2 --tp 2",
    "--dp 2 --pp 2 --cp 2 --tp 2 --sp",
)

EXPERT_PLANS = (
    "--ep 2",
    "--ep 4",
    "--ep 3",
    "--ep 2 --tp 2",
    "--ep 2 --sp",
    "--ep 3 --tp 2 --sp",
    "--ep 3 --ep-mode batch",
    "--ep 2 --tp 2 --ep-mode batch",
    "--ep 2 --tp 2 --ep-mode batch --rank-order ep,tp",
    "--ep 3 --cp 2 --ep-mode batch --rank-order cp,ep",
)


def experts_by_dims():
    return [
        helper.make_node("Gather", ["up", "chosen"], ["ups"], axis=0),
        helper.make_node("Gather", ["down", "chosen"], ["downs"], axis=0),
        helper.make_node("Unsqueeze", ["x", "axes"], ["rows"]),
        helper.make_node("MatMul", ["rows", "ups"], ["h"]),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("MatMul", ["a", "downs"], ["each"]),
        helper.make_node("Unsqueeze", ["weights", "last"], ["shares4"]),
        helper.make_node("Mul", ["each", "shares4"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "axes"], ["mixed"], keepdims=0),
    ]


def flat_experts():
    return [
        helper.make_node("Unsqueeze", ["x", "one"], ["x.1"]),
        helper.make_node("Expand", ["x.1", "each.choice"], ["x.2"]),
        helper.make_node("Reshape", ["x.2", "row"], ["rows"]),
        helper.make_node("Reshape", ["chosen", "all"], ["which"]),
        helper.make_node("Gather", ["up", "which"], ["ups"], axis=0),
        helper.make_node("Gather", ["down", "which"], ["downs"], axis=0),
        helper.make_node("MatMul", ["rows", "ups"], ["h.rows"]),
        helper.make_node("Squeeze", ["h.rows", "one"], ["h"]),
        helper.make_node("Relu", ["h"], ["a"]),
        helper.make_node("Unsqueeze", ["a", "one"], ["a.rows"]),
        helper.make_node("MatMul", ["a.rows", "downs"], ["each.rows"]),
        helper.make_node("Squeeze", ["each.rows", "one"], ["each"]),
        helper.make_node("Reshape", ["weights", "weight"], ["shares"]),
        helper.make_node("Mul", ["each", "shares"], ["weighted"]),
        helper.make_node("Reshape", ["weighted", "pairs"], ["both"]),
        helper.make_node("ReduceSum", ["both", "one"], ["mixed"], keepdims=0),
    ]


def experts_model(tokens="n", experts=4, hidden=30, width=8, routed=1.0, flat=True, choices=2):
    """
    Tokens through attention, an MLP and then 2 of 4 experts, unless told otherwise: routing by TopK, gathered experts as exporters write them,
    and residuals. With `routed` 0 all tokens choose the same two. Not `flat`, tokens and choices stay dims of their
    own, which is no form that is recognised as a mixture.
    """
    random = np.random.default_rng(5)
    weights = {
        "router": random.normal(size=(width, experts)) * routed,
        "up": random.normal(size=(experts, width, hidden)) / 3,
        "down": random.normal(size=(experts, hidden, width)) / 3,
        "wide": random.normal(size=(width, 4 * width)) / 3,
        "narrow": random.normal(size=(4 * width, width)) / 9,
    } | {name: random.normal(size=(width, width)) / 3 for name in ("q", "k", "v", "o")}
    nodes = [
        *(helper.make_node("MatMul", ["input", name], [f"x.{name}"]) for name in "qkv"),
        helper.make_node("Transpose", ["x.k"], ["keys"], perm=[1, 0]),
        helper.make_node("MatMul", ["x.q", "keys"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["seen"], axis=-1),
        helper.make_node("MatMul", ["seen", "x.v"], ["values"]),
        helper.make_node("MatMul", ["values", "o"], ["attended"]),
        helper.make_node("Add", ["input", "attended"], ["seen.by.all"]),
        helper.make_node("MatMul", ["seen.by.all", "wide"], ["mlp.up"]),
        helper.make_node("Relu", ["mlp.up"], ["mlp.a"]),
        helper.make_node("MatMul", ["mlp.a", "narrow"], ["mlp"]),
        helper.make_node("Add", ["seen.by.all", "mlp"], ["x"]),
        helper.make_node("MatMul", ["x", "router"], ["logits"]),
        helper.make_node("Softmax", ["logits"], ["all.shares"], axis=-1),
        helper.make_node("TopK", ["all.shares", "two"], ["weights", "chosen"], axis=-1),
        *(flat_experts() if flat else experts_by_dims()),
        helper.make_node("Add", ["x", "mixed"], ["y"]),
    ]
    constants = {"two": [choices], "one": [1], "axes": [1, 2], "last": [2, 3], "each.choice": [1, choices, 1], "all": [-1]}
    constants |= {"row": [-1, 1, width], "weight": [-1, 1], "pairs": [-1, choices, width]}
    tensors = [onnx.numpy_helper.from_array(value.astype(np.float32), name) for name, value in weights.items()]
    tensors += [onnx.numpy_helper.from_array(np.array(value, np.int64), name) for name, value in constants.items()]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [tokens, width])
    graph = helper.make_graph(nodes, "experts", [value("input")], [value("y")], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


class Parallel(PlanTest):
    def test_models_under_each_plan(self):
        self.check_models(("llama-dynamo-op18", "bert-ts-op17", "vit-ts-static-op17", "gpt2-dynamo-op20"), PLANS)

    def test_sequence_parallelism_costs_no_more_bytes(self):
        """Each all_reduce becomes a reduce_scatter and an all_gather, which together move what it moved."""
        llama = model_file("llama-dynamo-op18")
        dims = ["--dims", "batch=1,sequence=64"]
        plain = self.report(llama, "--tp 2", *dims)["collectives"]
        split = self.report(llama, "--tp 2 --sp", *dims)["collectives"]
        kinds = [entry["kind"] for entry in split]
        self.assertNotIn("all_reduce", kinds)
        self.assertEqual(kinds.count("reduce_scatter"), [entry["kind"] for entry in plain].count("all_reduce"))
        wire = lambda entries: sum(entry["wire_bytes"] for entry in entries)
        self.assertEqual(wire(split), wire(plain))

    def test_stages_hold_their_own_weights(self):
        llama = model_file("llama-dynamo-op18")
        whole = self.report(llama, "--tp 1")["ranks"][0]["weight_bytes"]
        report = self.report(llama, "--pp 4")
        parts = [rank["weight_bytes"] for rank in report["ranks"]]
        self.assertEqual([rank["coords"]["pp"] for rank in report["ranks"]], [0, 1, 2, 3])
        self.assertGreaterEqual(sum(parts), whole)
        self.assertLess(max(parts), 0.4 * whole)
        self.assertEqual(len(report["transfers"]), 3, "one hidden state between neighbours")

    def test_copied_weights_of_stages(self):
        llama, plan = model_file("llama-dynamo-op18"), "--dp 2 --pp 2 --tp 2"
        data_set = data_sets("llama-dynamo-op18")[0]
        expected = self.execute(self.artifact(llama, plan), data_set)
        found = self.execute(self.artifact(llama, plan + " --weights copy"), data_set)
        self.assert_same_numbers(found, expected)

    def test_too_many_stages(self):
        done = program("shardc", model_file("llama-dynamo-op18"), "--pp", 99, "-o", self.folder / "x.shard")
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"--pp 99: the model can be cut into at most \d+ stages; use --pp \d+ or less")
        self.assertFalse((self.folder / "x.shard").exists())

    def test_several_requests_at_once(self):
        """Together they give what each gives alone, however many replicas and stages there are."""
        name = "llama-dynamo-op18"
        folders = data_sets(name) * 3
        one = self.compile(model_file(name), 1, to="one.shard")
        expected = [self.execute(one, folder) for folder in folders]
        for plan in ("--pp 2", "--dp 2", "--dp 2 --pp 2 --tp 2"):
            with self.subTest(plan):
                out = self.folder / plan.replace(" ", "")
                self.run_ok("shardrun", self.artifact(model_file(name), plan), "--inputs", *folders, "--outputs", out)
                for i, values in enumerate(expected):
                    self.assert_same_numbers(read_outputs(out / str(i)), values)

    def test_micro_batches(self):
        """The outputs do not depend on their number."""
        name = "bert-ts-op17"
        for data_set in data_sets(name):
            expected = self.execute(self.compile(model_file(name), 1, to="one.shard"), data_set)
            for plan in ("--pp 2 --micro-batches 2", "--pp 2 --micro-batches 5", "--pp 2 --tp 2 --micro-batches 2"):
                with self.subTest(plan, data_set=data_set.name):
                    artifact = self.artifact(model_file(name), plan)
                    manifest = json.loads((artifact / "manifest.json").read_text())
                    self.assertEqual(manifest["batch_inputs"], [0, 1, 2])
                    self.assert_same_numbers(self.execute(artifact, data_set), expected)

    def test_micro_batches_where_rows_are_not_independent(self):
        """The mean over the batch is in every row: the request runs as one, and it is said why."""
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4])
        weight = onnx.numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
        other = onnx.numpy_helper.from_array(2 * np.eye(4, dtype=np.float32), "v")
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("ReduceMean", ["a", "axes"], ["mean"], keepdims=1),
            helper.make_node("Sub", ["a", "mean"], ["b"]),
            helper.make_node("MatMul", ["b", "v"], ["y"]),
        ]
        axes = onnx.numpy_helper.from_array(np.array([0], np.int64), "axes")
        graph = helper.make_graph(nodes, "centred", [value("x")], [value("y")], [weight, other, axes])
        file = self.folder / "centred.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), file)
        artifact = self.folder / "m.shard"
        done = program("shardc", file, "--pp", 2, "--micro-batches", 2, "-o", artifact)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("each request runs as one", done.stderr)
        x = np.arange(12, dtype=np.float32).reshape(3, 4)
        np.savez(self.folder / "x.npz", x=x)
        out = self.folder / "out"
        self.run_ok("shardrun", artifact, "--inputs", self.folder / "x.npz", "--outputs", out)
        self.assert_same_numbers(read_outputs(out), [2 * (x - x.mean(axis=0))])

    def test_micro_batches_where_the_number_of_rows_counts(self):
        """What no row reads of another follows from how many there are: the first rows of a table, its sum over so many."""
        table = np.arange(24, dtype=np.float32).reshape(6, 4)
        node, vector = helper.make_node, lambda name, *of: onnx.numpy_helper.from_array(np.array(of, np.int64), name)
        count = node("Shape", ["x"], ["count"], start=0, end=1)
        first = node("Slice", ["table", "zero", "count", "zero"], ["first"])
        cases = {
            "a row each": ([count, first], "first", lambda n: table[:n]),
            "their sum": ([count, first, node("ReduceSum", ["first", "zero"], ["sum"])], "sum", lambda n: table[:n].sum(0)),
            "the last": ([count, node("Sub", ["count", "one"], ["last"]), node("Slice", ["table", "last", "count", "zero"], ["row"])],
                         "row", lambda n: table[n - 1]),
            "repeated": ([count, node("Concat", ["count", "four"], ["size"], axis=0), node("Expand", ["ones", "size"], ["all"]),
                          node("ReduceSum", ["all", "zero"], ["sum"])], "sum", lambda n: np.full(4, n, np.float32)),
        }  # fmt: skip
        tensors = [onnx.numpy_helper.from_array(table, "table"), onnx.numpy_helper.from_array(np.ones((1, 4), np.float32), "ones"),
                   *(onnx.numpy_helper.from_array(np.eye(4, dtype=np.float32), name) for name in "wv"),
                   vector("zero", 0), vector("one", 1), vector("four", 4)]  # fmt: skip
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4])
        x = np.arange(16, dtype=np.float32).reshape(4, 4)
        np.savez(self.folder / "x.npz", x=x)
        for name, (nodes, added, expected) in cases.items():
            with self.subTest(name):
                chain = [node("MatMul", ["x", "w"], ["a"]), *nodes, node("Add", ["a", added], ["b"]), node("MatMul", ["b", "v"], ["y"])]
                graph = helper.make_graph(chain, "counts", [value("x")], [value("y")], tensors)
                file, artifact, out = self.folder / "counts.onnx", self.folder / "m.shard", self.folder / "out"
                onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), file)
                done = program("shardc", file, "--pp", 2, "--micro-batches", 2, "-o", artifact)
                self.assertIn("each request runs as one", done.stderr)
                self.run_ok("shardrun", artifact, "--inputs", self.folder / "x.npz", "--outputs", out)
                self.assert_same_numbers(read_outputs(out), [x + expected(4)])

    def test_caches_of_stages(self):
        """A prompt and steps, caches over stages or rows over ranks, give what one long run of one rank gives."""
        plans = ("--pp 2", "--pp 2 --tp 2", "--dp 2 --pp 2 --tp 2", "--ep 3 --cp 2 --ep-mode batch")
        self.check_prompt_and_steps(plans, batch=2, total=12)

    def test_experts_on_ranks_of_their_own(self):
        for routed, flat in ((1, True), (0, True), (1, False)):
            model = experts_model(routed=routed, flat=flat)
            file = self.folder / f"experts{routed}{flat}.onnx"
            onnx.save(model, file)
            report = self.report(file, "--ep 2")
            up = [entry for entry in report["whole_weights"] if entry["name"] in ("up", "down")]
            self.assertEqual(up, [], "each rank holds half of the experts")
            session = ReferenceEvaluator(model)
            for tokens in (0, 1, 7):
                x = np.random.default_rng(tokens).normal(size=(tokens, 8)).astype(np.float32)
                expected = session.run(None, {"input": x})[0] if tokens else x
                np.savez(self.folder / "x.npz", input=x)
                for plan in EXPERT_PLANS:
                    with self.subTest(plan, tokens=tokens, routed=routed, flat=flat):
                        self.assert_runs(file, plan, expected)

    def assert_runs(self, file, plan, expected):
        out = self.folder / "out"
        data = ["--inputs", self.folder / "x.npz", "--outputs", out]
        self.run_ok("shardrun", self.artifact(file, plan), *data, "--check-replicas")
        self.assert_same_numbers(read_outputs(out), [expected])

    def test_a_batch_split_over_experts(self):
        """Also fewer rows than ranks."""
        plans = ("--ep 2", "--ep 4 --tp 2", "--ep 2 --tp 2 --sp", "--ep 2 --cp 2", "--ep 2 --pp 2")
        for name in ("llama-dynamo-op18", "bert-ts-op17"):
            one = self.compile(model_file(name), 1, to="one.shard")
            for data_set in data_sets(name):
                expected = self.execute(one, data_set)
                for plan in plans:
                    with self.subTest(name, plan=plan, data_set=data_set.name):
                        found = self.execute(self.artifact(model_file(name), plan + " --ep-mode batch"), data_set)
                        self.assert_same_numbers(found, expected)
        report = self.report(model_file("llama-dynamo-op18"), "--ep 2 --ep-mode batch")
        self.assertEqual(report["collectives"], [], "rows have nothing to say to each other")

    def test_the_batch_decides_what_ep_splits(self):
        file = model_file("llama-dynamo-op18")
        for sizes, choice in (
            ([], r"is tensor parallelism: how many rows a batch has is not known .*--plan-dims"),
            (["--plan-dims", "batch=64,seq=512"], r"splits the batch: 0\.\d\d of the predicted time"),
            (["--plan-dims", "batch=1,seq=100000"], r"is tensor parallelism: 0\.\d\d of the predicted time"),
        ):
            with self.subTest(sizes):
                [said] = self.report(file, "--ep 2", *sizes)["choices"]
                self.assertRegex(said, r'^outside of experts "ep" ' + choice)

    def test_split_tokens_go_to_their_experts_and_back(self):
        file = self.folder / "experts.onnx"
        onnx.save(experts_model(experts=8), file)
        for plan, others in (
            ("--ep 4 --sp", []),
            ("--ep 2 --tp 2 --sp", ["all_gather", "reduce_scatter"]),
        ):
            kinds = [entry["kind"] for entry in self.report(file, plan)["collectives"]]
            self.assertEqual((kinds.count("dispatch"), kinds.count("combine")), (1, 1), kinds)
            for kind in others:
                self.assertIn(kind, kinds)
