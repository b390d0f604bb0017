"""The same bits under any plan (--bitwise): outputs of ten plans by hash, values beside other engines', and mutants."""

import hashlib
import json
import os
import platform
import re
import unittest
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.corpus.plan_table import CORPUS
from tests.e2e.caches import VOCABULARY, decoder, write_steps
from tests.e2e.test_parallel import experts_model
from tests.support import BUILD, EndToEnd, data_sets, model_file, program, read_outputs

# Experts on ranks of their own, beside what else there is.
EXPERT_PLANS = ("--ep 2", "--ep 4", "--ep 2 --tp 2", "--ep 2 --tp 3", "--tp 3", "--ep 8", "--ep 2 --ep-mode batch --tp 2",
                "--ep 2 --cp 2", "--ep 2 --fsdp 2", "--ep 2 --pp 2", "--ep 3 --sp")
PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
# Flags of shardc, and of shardrun.
PLANS = (
    ("--tp 2", ""),
    ("--tp 4", ""),
    ("--tp 8", ""),
    ("--tp 3", ""),
    ("--tp 2 --sp", ""),
    ("--cp 2", ""),
    ("--cp 2 --cp-mode ulysses --tp 2", ""),
    ("--pp 2 --tp 2 --micro-batches 2", ""),
    ("--dp 2", ""),
    ("--fsdp 2", ""),
    ("--ep 2", ""),
    ("", "--threads 2"),
)


def products_model(seed, hidden, heads, size, ffn):
    """A layer of what nothing is recovered of: products of activations, sums, a mean, an uneven number of everything."""
    random = np.random.default_rng(seed)
    inner = heads * size
    sizes = {"q": (hidden, inner), "k": (hidden, inner), "v": (hidden, inner), "o": (inner, hidden),
             "up": (hidden, ffn), "down": (ffn, hidden), "table": (23, hidden)}
    tensors = [numpy_helper.from_array((random.normal(size=dims) / np.sqrt(dims[0])).astype(np.float32), name)
               for name, dims in sizes.items()]
    constants = {"apart": [0, 0, heads, size], "together": [0, 0, inner], "rows": [1], "last": [-1]}
    tensors += [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in constants.items()]
    nodes = [helper.make_node("Gather", ["table", "ids"], ["looked.up"])]
    node = lambda op, inputs, output, **more: nodes.append(helper.make_node(op, inputs, [output], **more))
    node("ReduceMean", ["looked.up", "rows"], "mean", keepdims=1)
    node("Sub", ["looked.up", "mean"], "x")
    for name in "qkv":
        node("MatMul", ["x", name], f"x.{name}")
        node("Reshape", [f"x.{name}", "apart"], f"apart.{name}")
        node("Transpose", [f"apart.{name}"], f"heads.{name}", perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])
    node("MatMul", ["heads.q", "heads.k"], "scores")
    node("Tanh", ["scores"], "bounded")  # no softmax: attention in nobody's books
    node("MatMul", ["bounded", "heads.v"], "values")
    node("Transpose", ["values"], "rows.values", perm=[0, 2, 1, 3])
    node("Reshape", ["rows.values", "together"], "attended")
    node("MatMul", ["attended", "o"], "x.o")
    node("Add", ["x", "x.o"], "y")
    node("MatMul", ["y", "up"], "wide")
    node("Gelu", ["wide"], "active")
    node("MatMul", ["active", "down"], "narrow")
    node("Add", ["y", "narrow"], "z")
    node("ReduceSum", ["z", "last"], "sum", keepdims=0)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["b", "s"])
    value = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    outputs = [value("z", ["b", "s", hidden]), value("sum", ["b", "s"])]
    graph = helper.make_graph(nodes, "products", [ids], outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def hash_of(outputs):
    bits = hashlib.sha256()
    for value in outputs:
        bits.update(f"{value.dtype} {value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    return bits.hexdigest()


class Bitwise(EndToEnd):
    def outputs(self, model, data_set, flags, run="", bitwise=("--bitwise",)):
        artifact, out = self.folder / "model.shard", self.folder / "out"
        self.run_ok("shardc", model, "-o", artifact, *bitwise, *flags.split())
        self.run_ok("shardrun", artifact, "--inputs", data_set, "--outputs", out, "--check-replicas", *run.split())
        return read_outputs(out)

    def check_plans(self, model, data_set, plans=PLANS):
        one = self.outputs(model, data_set, "")
        for flags, run in plans:
            with self.subTest(model=model, plan=flags, run=run):
                self.assertEqual(hash_of(self.outputs(model, data_set, flags, run)), hash_of(one))
        return one

    def request(self, **inputs):
        folder = self.folder / "request"
        folder.mkdir(exist_ok=True)
        for i, (name, value) in enumerate(inputs.items()):
            (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value, name).SerializeToString())
        return folder

    def test_models_under_ten_plans(self):
        for name in ("bert-ts-op17", "gpt2-dynamo-op20", "llama-dynamo-op18", "vit-ts-static-op17", "llama-genai-int4"):
            for data_set in data_sets(name)[:2]:
                one = self.check_plans(model_file(name), data_set)
                for found, expected in zip(one, read_outputs(data_set), strict=True):
                    self.assertLess(np.abs(found - expected).max(initial=0), 3e-2 * np.abs(expected).max(initial=1))

    def test_without_it_plans_differ(self):
        """Else nothing above says anything."""
        name = "llama-dynamo-op18"
        one, two = (self.outputs(model_file(name), data_sets(name)[0], flags, bitwise=()) for flags in ("", "--tp 2"))
        self.assertNotEqual(hash_of(one), hash_of(two))

    def test_in_fewer_bits(self):
        name = "llama-dynamo-op18"
        one = self.outputs(model_file(name), data_sets(name)[0], "--compute bf16")
        for flags, run in PLANS:
            with self.subTest(plan=flags, run=run):
                found = self.outputs(model_file(name), data_sets(name)[0], f"{flags} --compute bf16", run)
                self.assertEqual(hash_of(found), hash_of(one))

    def test_sizes_that_divide_nothing(self):
        random = np.random.default_rng(3)
        for seed, sizes in enumerate([(40, 5, 8, 72), (33, 1, 16, 50), (96, 6, 7, 800), (17, 3, 5, 11)]):
            model = self.folder / "products.onnx"
            onnx.save(products_model(seed, *sizes), model)
            ids = random.integers(0, 23, size=(3, 9))
            one = self.check_plans(model, self.request(ids=ids))
            expected = ReferenceEvaluator(str(model)).run(None, {"ids": ids})
            for found, wanted in zip(one, expected, strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())

    def test_kernels_that_end_elsewhere(self):
        """On one rank a norm is in one kernel with what is in front of it, on several a gather is in between."""
        random = np.random.default_rng(9)
        weight = lambda name, *dims: numpy_helper.from_array((random.normal(size=dims) / np.sqrt(dims[0])).astype(np.float32), name)
        tensors = [weight("w", 48, 250), weight("b", 250), weight("scale", 250), weight("shift", 250), weight("out", 250, 9)]
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["xw"]),
            helper.make_node("Add", ["xw", "b"], ["xb"]),
            helper.make_node("Gelu", ["xb"], ["g"]),
            helper.make_node("LayerNormalization", ["g", "scale", "shift"], ["n"], axis=-1),
            helper.make_node("MatMul", ["n", "out"], ["y"]),
        ]
        value = lambda name, size: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size])
        graph = helper.make_graph(nodes, "norm", [value("x", 48)], [value("n", 250), value("y", 9)], tensors)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        model = self.folder / "norm.onnx"
        onnx.save(made, model)
        x = random.normal(size=(33, 48)).astype(np.float32)
        one = self.check_plans(model, self.request(x=x), [("--tp 2", ""), ("--tp 4", ""), ("--cp 2", "")])
        for found, wanted in zip(one, ReferenceEvaluator(made).run(None, {"x": x}), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)

    def test_experts(self):
        random = np.random.default_rng(4)
        model = self.folder / "experts.onnx"
        onnx.save(experts_model(choices=3), model)
        tokens = random.normal(size=(21, 8)).astype(np.float32)
        plans = [*PLANS, *((flags, "") for flags in EXPERT_PLANS)]
        one = self.check_plans(model, self.request(input=tokens), plans)
        expected = ReferenceEvaluator(str(model)).run(None, {"input": tokens})
        np.testing.assert_allclose(one[0], expected[0], rtol=1e-4, atol=1e-5)

    def test_experts_are_shared_out(self):
        """Each lies whole on one rank, whatever else splits them without --bitwise."""
        model, report = self.folder / "experts.onnx", self.folder / "report.json"
        onnx.save(experts_model(experts=8, hidden=64, width=16), model)
        held = {}
        for flags in ("", "--tp 4", "--ep 4", "--ep 2 --tp 2", "--ep 8", "--ep 4 --ep-mode batch"):
            self.run_ok("shardc", model, "--bitwise", *flags.split(), "--explain-json", report)
            held[flags] = max(rank["weight_bytes"] for rank in json.loads(report.read_text())["ranks"])
        experts = 8 * 2 * 16 * 64 * 4
        for flags, ways in (("--tp 4", 4), ("--ep 4", 4), ("--ep 2 --tp 2", 4), ("--ep 8", 8), ("--ep 4 --ep-mode batch", 4)):
            self.assertLessEqual(held[flags], held[""] - experts * (ways - 1) // ways, flags)

    def test_mixtures_of_the_corpus_s_models(self):
        for name in ("mixtral-dynamo-op20", "qwen3moe-dynamo-op21", "gptoss-genai-fp32"):
            folder = CORPUS / name
            if not folder.is_dir():
                self.skipTest("no corpus beside the clone")
            data_set = sorted(folder.glob("test_data_set_*"))[0]
            one = self.check_plans(folder / "model.onnx", data_set, [(flags, "") for flags in EXPERT_PLANS])
            for found, expected in zip(one, read_outputs(data_set), strict=True):
                self.assertLess(np.abs(found - expected).max(initial=0), 1e-4 * np.abs(expected).max(initial=1))

    def test_texts_beside_others(self):
        """What a text gets does not depend on those that are with it, nor a position on those behind it."""
        name = "llama-dynamo-op18"
        ids, mask = (onnx.load_tensor(data_sets(name)[0] / f"input_{i}.pb") for i in range(2))
        names, values = (ids.name, mask.name), [numpy_helper.to_array(tensor) for tensor in (ids, mask)]
        values[1] = np.ones_like(values[1])
        together, = self.outputs(model_file(name), self.request(**dict(zip(names, values))), "--tp 2")
        for row in range(len(values[0])):
            alone = self.request(**dict(zip(names, (value[row : row + 1] for value in values))))
            np.testing.assert_array_equal(self.outputs(model_file(name), alone, "--tp 4")[0][0], together[row])
        for length in (1, 2, values[0].shape[1] - 1):
            short = self.request(**dict(zip(names, (value[:1, :length] for value in values))))
            np.testing.assert_array_equal(self.outputs(model_file(name), short, "")[0][0], together[0, :length])

    def test_positions_in_parts(self):
        """Steps behind a cache get what the prompt as a whole gets, under any plan: prompts and steps are programs of their own."""
        ids = np.random.default_rng(8).integers(0, VOCABULARY, (2, 300))
        for key_heads in (4, 2, 1):
            model, found = self.folder / "decoder.onnx", []
            made = decoder(key_heads=key_heads)
            (places,) = (weight for weight in made.graph.initializer if weight.name == "places")
            more = np.tile(numpy_helper.to_array(places), (2, 1))  # attention goes through tiles of 256 keys
            places.CopyFrom(numpy_helper.from_array(more, "places"))
            onnx.save(made, model)
            requests = [write_steps(self.folder / f"{key_heads}.{i}", made, ids, lengths)
                        for i, lengths in enumerate([[300], [270, 1, 1, 3, 9, 1, 15], [1, 2, 255, 1, 41]])]
            for plan in ("", "--tp 2", "--tp 4", "--cp 2", "--tp 2 --sp", "--pp 2 --tp 2"):
                artifact, out = self.folder / "decoder.shard", self.folder / "steps"
                self.run_ok("shardc", model, "--bitwise", *plan.split(), "-o", artifact)
                for steps in requests:
                    self.run_ok("shardrun", artifact, "--cache", 300, "--outputs", out, "--inputs", *steps)
                    parts = [out / str(i) for i in range(len(steps))] if len(steps) > 1 else [out]
                    found.append((plan, len(steps), np.concatenate([read_outputs(part)[0] for part in parts], axis=1)))
            for plan, steps, logits in found:
                with self.subTest(key_heads=key_heads, plan=plan, steps=steps):
                    self.assertEqual(logits.shape, (2, 300, VOCABULARY))
                    np.testing.assert_array_equal(logits, found[0][2])

    def test_processors_of_one_family(self):
        """With less of this machine's instructions the same bits, and without fused multiply-add others: so the variable does something."""
        for name in ("llama-dynamo-op18", "llama-genai-int4"):
            found = {}
            for flags in ("", "--kernels reference"):
                artifact, out = self.folder / "model.shard", self.folder / "out"
                self.run_ok("shardc", model_file(name), "--bitwise", *flags.split(), "-o", artifact)
                for level in ("baseline", "avx2", "avx512", "avx512-vnni", ""):
                    if level == "baseline" and not flags:
                        continue  # kernels are generated for the family
                    done = program("shardrun", artifact, "--inputs", data_sets(name)[0], "--outputs", out, env={**os.environ, "SHARDC_PROCESSOR": level})
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    found[level] = hash_of(read_outputs(out))
                    if level != "baseline":
                        self.assertEqual(found[level], found["avx2"], level)
                if flags and platform.machine() == "x86_64":
                    self.assertNotEqual(found["baseline"], found["avx2"])
        done = program("shardrun", artifact, "--inputs", data_sets(name)[0], env={**os.environ, "SHARDC_PROCESSOR": "sse"})
        self.assertEqual(done.returncode, 0)
        self.assertIn("SHARDC_PROCESSOR=sse: expected baseline, avx2", done.stderr)

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_other_devices_refuse_it(self):
        artifact = self.folder / "model.shard"
        self.run_ok("shardc", model_file("llama-dynamo-op18"), "--bitwise", "--kernels", "reference", "-o", artifact)
        with mock.patch.dict(os.environ, {"SHARDC_BACKENDS": str(PLUGIN.parent)}):
            done = program("shardrun", artifact, "--device", "cuda", "--inputs", data_sets("llama-dynamo-op18")[0])
        self.assertEqual(done.returncode, 4, done.stdout)
        self.assertIn("was compiled with --bitwise", done.stderr)

    def mutant(self, spared, model=model_file("llama-dynamo-op18"), before=()):
        """The imported model with all sums whole but one; 0: none is spared."""
        imported, marked = self.folder / "imported.mlir", self.folder / "marked.mlir"
        self.run_ok("shardc", model, "--to", "imported", "-o", imported)
        passes = [*before, f"--shardc-keep-sums-whole=spared={spared}", "--shardc-fingerprint"]
        marked.write_text(self.run_ok("shard-opt", imported, "--mlir-print-debuginfo", *passes))
        return marked

    def test_mutants_of_one_sum_are_found(self):
        """Of each kind of sum one that ranks share out again: a product's columns become rows, and the bits others."""
        found = []
        data_set = data_sets("llama-dynamo-op18")[0]
        for spared in range(8):
            model = self.mutant(spared)
            one, two = (self.outputs(model, data_set, f"--from imported --tp {tp}", bitwise=()) for tp in (1, 2))
            if hash_of(one) != hash_of(two):
                found.append(spared)
        # The embedding's sum has one summand, and some products stay columns all the same.
        self.assertNotIn(0, found)
        self.assertEqual(found, [2, 3, 4, 7])

    def test_a_mixture_whose_sum_is_shared_out_is_found(self):
        """That of a token's choices, which ranks add up as experts lie, unless they stay apart until all are there."""
        model = self.folder / "experts.onnx"
        onnx.save(experts_model(experts=8, choices=4), model)
        data_set = self.request(input=np.random.default_rng(4).normal(size=(21, 8)).astype(np.float32))
        ops = [line for line in self.mutant(0, model).read_text().splitlines() if " = onnx." in line and "onnx.whole_sums" in line]
        (mixture,) = (number for number, line in enumerate(ops, 1) if "onnx.MixtureOfExperts" in line)
        for before, isSame in (((), False), (("--shardc-keep-choices-apart",), True)):
            marked = self.mutant(mixture, model, before)
            one, four = (self.outputs(marked, data_set, f"--from imported --ep {ep}", bitwise=()) for ep in (1, 4))
            self.assertEqual(hash_of(one) == hash_of(four), isSame)

    def test_a_plan_that_shares_out_a_sum_is_refused(self):
        name = "llama-dynamo-op18"
        plan = self.folder / "plan.json"
        self.run_ok("shardc", model_file(name), "--tp", 2, "--save-plan", plan)
        done = program("shardc", model_file(name), "--bitwise", "--load-plan", plan, "-o", self.folder / "refused")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("was made with no --bitwise", done.stderr)
        pin = ["--pin", "val_242=[{tp}, {}]"]  # rows of a down matrix
        pinned = program("shardc", model_file(name), "--bitwise", "--tp", 2, *pin, "-o", self.folder / "refused")
        self.assertEqual(pinned.returncode, 2, pinned.stderr)
        self.assertIn("is not kept: where it is used it is [{}, {}]", pinned.stderr)

    def test_costs_are_told(self):
        name = "llama-dynamo-op18"
        said = self.explain(model_file(name), 2, "--bitwise", "--dims", "batch=1,sequence=64")
        kinds = {collective["kind"] for collective in said["collectives"]}
        self.assertEqual(kinds, {"all_gather"})
        (cost,) = (choice for choice in said["choices"] if choice.startswith("--bitwise"))
        self.assertRegex(cost, r"17 collectives, \d+ bytes on the wire.*without it 9 collectives, \d+ bytes on the wire")

    def test_costs_are_told_of_a_whole_run(self):
        """The share of what both are predicted to take, which is more than what collectives take."""
        report = self.folder / "report.json"
        model = model_file("llama-dynamo-op18")
        for machine in ("cpu:1x2", "h100:1x2"):
            self.run_ok("shardc", model, "--bitwise", "--tp", 2, "--topology", machine, "--dims", "batch=1,sequence=64", "--explain-json", report)
            (cost,) = (choice for choice in json.loads(report.read_text())["choices"] if choice.startswith("--bitwise"))
            found = re.search(r"a run is predicted to take ([\d.]+) us, ([+-][\d.]+) % of that without", cost)
            run, percent = (float(text) for text in found.groups())
            seconds = []
            for flags in (["--bitwise"], []):
                self.run_ok("shardc", "plan", model, "--tp", 2, "--sp", "off", "--topology", machine, "--dims", "batch=1,seq=64", *flags, "--json", report)
                seconds.append(json.loads(report.read_text())["candidates"][0]["seconds"]["prefill"])
            self.assertAlmostEqual(run, 1e6 * seconds[0], delta=0.01 * run)
            self.assertAlmostEqual(percent, 100 * (seconds[0] / seconds[1] - 1), delta=1)
        self.run_ok("shardc", model, "--bitwise", "--tp", 2, "--topology", machine, "--dims", "batch=1", "--explain-json", report)
        self.assertNotIn("is predicted", report.read_text())

if __name__ == "__main__":
    unittest.main()
