"""Weights that ranks share out, and rows of which each has its own: `--fsdp`, alone and beside other axes."""

import os
import re
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.plans import PlanTest
from tests.e2e.test_parallel import experts_model
from tests.graphs import GraphBuilder
from tests.support import BIN, BUILD, data_sets, model_file, program, read_outputs

PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
MODELS = ("llama-dynamo-op18", "bert-ts-op17", "vit-ts-static-op17", "gpt2-dynamo-op20", "llama-genai-int4")
PLANS = (
    "--fsdp 2",
    "--fsdp 3",
    "--fsdp 4 --tp 2",
    "--fsdp 2 --tp 2 --rank-order fsdp,tp",
    "--fsdp 2 --cp 2 --pp 2 --rank-order pp,fsdp,cp",
    "--fsdp 2 --pp 2",
    "--fsdp 3 --tp 2 --pp 2",
    "--fsdp 2 --tp 2 --sp",
    "--fsdp 2 --cp 2",
    "--dp 2 --fsdp 2",
)
WIDTH, INNER = 64, 256
LAYER = 2 * WIDTH * INNER * 4  # bytes of its weights


def chain(layers, head=0):
    """Rows through so many pairs of products, with residuals; then one with a matrix of `head` columns."""
    graph = GraphBuilder(seed=3)
    x = "x"
    for n in range(layers):
        up = graph.node("MatMul", [x, graph.weight(f"up{n}", WIDTH, INNER)], f"wide{n}")
        down = graph.node("MatMul", [graph.node("Relu", [up], f"a{n}"), graph.weight(f"down{n}", INNER, WIDTH)], f"narrow{n}")
        x = graph.node("Add", [x, down], f"x{n}")
    value = lambda name, width: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", width])
    if head:
        x = graph.node("MatMul", [x, graph.weight("head", WIDTH, head)], "scores")
    return graph.model([value("x", WIDTH)], [value(x, head or WIDTH)])


class Fsdp(PlanTest):
    def test_models_under_each_plan(self):
        self.check_models(MODELS, PLANS)

    def test_any_number_of_rows(self):
        """Ranks without a row gather all the same; none has more rows than it must."""
        plans = ("--fsdp 2", "--fsdp 3", "--fsdp 4 --tp 3", "--fsdp 2 --pp 2", "--fsdp 5 --tp 2 --pp 2")
        self.check_prompts(plans, [(1, 6), (2, 6), (5, 6)])

    def test_a_prompt_and_steps(self):
        """Caches lie where their rows are."""
        plans = ("--fsdp 2", "--fsdp 4 --tp 2", "--fsdp 2 --tp 2 --pp 2", "--dp 2 --fsdp 2", "--fsdp 2 --cp 2")
        self.check_prompt_and_steps(plans, batch=3)

    def test_micro_batches(self):
        name = "bert-ts-op17"
        for data_set in data_sets(name):
            expected = self.execute(self.compile(model_file(name), 1, to="one.shard"), data_set)
            for plan in ("--pp 2 --fsdp 2 --micro-batches 2", "--pp 2 --fsdp 2 --tp 2 --micro-batches 3"):
                with self.subTest(plan, data_set=data_set.name):
                    self.assert_same_numbers(self.execute(self.artifact(model_file(name), plan), data_set), expected)

    def test_experts(self):
        """Rows split over "fsdp", experts over "ep", whose ranks may have rows of their own too."""
        model = experts_model()
        file = self.folder / "experts.onnx"
        onnx.save(model, file)
        for tokens in (1, 7):
            x = np.random.default_rng(tokens).normal(size=(tokens, 8)).astype(np.float32)
            np.savez(self.folder / "x.npz", input=x)
            expected = ReferenceEvaluator(model).run(None, {"input": x})[0]
            for plan in ("--fsdp 2", "--fsdp 3 --ep 2", "--fsdp 2 --ep 2 --ep-mode batch", "--fsdp 2 --ep 2 --tp 2",
                         "--fsdp 2 --ep 2 --tp 2 --rank-order ep,fsdp,tp"):
                with self.subTest(plan, tokens=tokens):
                    out = self.folder / "out"
                    self.run_ok("shardrun", self.artifact(file, plan), "--inputs", self.folder / "x.npz", "--outputs", out)
                    self.assert_same_numbers(read_outputs(out), [expected])

    def test_weights_are_shared_out_and_gathered_by_layer(self):
        llama = model_file("llama-dynamo-op18")
        whole = self.report(llama, "--tp 1")["ranks"][0]["weight_bytes"]
        report = self.report(llama, "--fsdp 4", "--dims", "batch=4,sequence=8")
        vectors = sum(entry["bytes"] for entry in report["whole_weights"])
        self.assertLess(vectors, 0.03 * whole)
        self.assertEqual(sum(rank["weight_bytes"] - vectors for rank in report["ranks"]), whole - vectors)
        gathers = [entry for entry in report["collectives"] if entry.get("of") == "weights"]
        self.assertEqual({(entry["kind"], entry["axis"]) for entry in gathers}, {("all_gather", "fsdp")})
        by_layer = {}
        for entry in gathers:
            by_layer.setdefault(entry.get("layer"), []).append(entry["bytes"])
        self.assertEqual(by_layer[1], by_layer[2])
        # Each product's matrix is gathered once, and the table never is.
        products = [entry["node"] for entry in gathers]
        self.assertEqual(len(products), len(set(products)))
        self.assertNotIn("node_embedding", products)
        beside = self.report(llama, "--fsdp 2 --tp 2")
        self.assertLess(max(rank["weight_bytes"] for rank in beside["ranks"]), 0.27 * whole + vectors)

    def test_two_layers_are_there_at_once(self):
        """However many layers there are, beyond the values of a few rows."""
        for plan, share in (("--fsdp 4", 1), ("--fsdp 2 --tp 2", 2), ("--fsdp 2 --pp 2", 1), ("--fsdp 2 --tp 2 --pp 2", 2)):
            for target in ("host", "cuda"):
                with self.subTest(plan, target=target):
                    most = []
                    for layers in (4, 8):
                        onnx.save(chain(layers), self.folder / "chain.onnx")
                        report = self.report(self.folder / "chain.onnx", plan, "--dims", "batch=4", "--target", target)
                        most.append(max(rank["activation_bytes"] for rank in report["ranks"]))
                    rows = 6 * 4 * INNER * 4
                    self.assertEqual(most[0], most[1])
                    self.assertGreater(most[0], LAYER // share, "a layer, and more of the next one")
                    self.assertLessEqual(most[0], 2 * LAYER // share + rows)

    def test_a_large_head_is_there_alone(self):
        """A head of 1.5 layers leaves half a layer beside it, of 8 none."""
        for target in ("host", "cuda"):
            for columns, bound in ((768, 2 * LAYER), (4096, 8 * LAYER)):
                with self.subTest(columns=columns, target=target):
                    file = self.folder / "headed.onnx"
                    onnx.save(chain(4, head=columns), file)
                    report = self.report(file, "--fsdp 4", "--dims", "batch=4", "--target", target)
                    most = max(rank["activation_bytes"] for rank in report["ranks"])
                    self.assertGreaterEqual(most, WIDTH * columns * 4)
                    self.assertLessEqual(most, bound + 6 * 4 * INNER * 4 + 2 * columns * 4)

    def test_gathers_start_a_layer_ahead(self):
        onnx.save(chain(4), self.folder / "chain.onnx")
        text = self.run_ok("shardc", self.folder / "chain.onnx", "--fsdp", 2, "--tp", 2, "--target", "cuda", "--to", "lowered")
        found = re.findall(r'rt\.(?:(call) "(?:MatMul|Linear)"|collective "(all_gather|all_reduce)"|(wait))', text)
        order = [call and "product" or collective or wait for call, collective, wait in found]
        first = order.index("product")
        self.assertGreater(order[:first].count("all_gather"), 1, "the second one's travels beside the first product")
        last = len(order) - 1 - order[::-1].index("all_gather")
        self.assertGreaterEqual(order[last:].count("product"), 2)
        self.assertEqual(order.count("all_gather"), 8)
        self.assertGreaterEqual(order.count("wait"), 6)

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_on_gpus_that_are_simulated(self):
        onnx.save(chain(4), self.folder / "chain.onnx")
        x = np.random.default_rng(1).standard_normal((3, WIDTH)).astype(np.float32)
        np.savez(self.folder / "x.npz", x=x)
        expected = ReferenceEvaluator(chain(4)).run(None, {"x": x})
        for plan in ("--fsdp 2", "--fsdp 4", "--fsdp 2 --tp 2", "--fsdp 2 --pp 2", "--fsdp 2 --tp 2 --pp 2"):
            with self.subTest(plan):
                artifact, out = self.artifact(self.folder / "chain.onnx", plan, "--target", "cuda"), self.folder / "out"
                command = [BIN / "shardrun", artifact, "--device", "cuda", "--inputs", self.folder / "x.npz", "--outputs", out]
                done = subprocess.run([str(a) for a in [*command, "--check-replicas", "--repeat", "3"]], capture_output=True,
                                      text=True, timeout=300, env=os.environ | {"SHARDC_BACKENDS": str(PLUGIN.parent)})  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr[-1000:])
                self.assert_same_numbers(read_outputs(out), expected)

    def test_says_where_no_rows_can_be_split(self):
        graph = GraphBuilder(seed=1)
        y = graph.node("MatMul", ["x", graph.weight("w", WIDTH, INNER)], "y")
        vector = helper.make_tensor_value_info("x", TensorProto.FLOAT, [WIDTH])
        onnx.save(graph.model([vector], [helper.make_tensor_value_info(y, TensorProto.FLOAT, [INNER])]), self.folder / "m.onnx")
        done = program("shardc", self.folder / "m.onnx", "--fsdp", 2, "-o", self.folder / "m.shard")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('no rows can be split over "fsdp" = 2', done.stderr)

    def test_mistakes(self):
        llama = model_file("llama-dynamo-op18")
        for flags, words in (
            (["--fsdp", "0"], "--fsdp 0: expected at least 1; use --fsdp 1 or more"),
            (["--fsdp", "2", "--rank-order", "tp,pp"], '"fsdp" has 2 ways and no place'),
            (["--fsdp", "2", "--load-plan", "x.json"], "--fsdp: --load-plan has it; leave one of them out"),
        ):
            done = program("shardc", llama, *flags, "-o", self.folder / "x.shard")
            self.assertEqual(done.returncode, 2, flags)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("error:"), 1)
