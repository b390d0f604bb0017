"""Unequal parts: `--shares 3,1` gives the ranks of an axis parts of what it splits, alone and beside other axes."""

import json
import os
import subprocess
import unittest

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tests import large
from tests.e2e.plans import PlanTest
from tests.e2e.processes import LLAMA, ProcessTest, by_hand
from tests.e2e.test_parallel import experts_model
from tests.support import BIN, BUILD, data_sets, model_file, program, read_outputs

PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
FAKE = {"SHARDC_BACKENDS": str(BUILD / "lib/tests")}
MODELS = ("llama-dynamo-op18", "bert-ts-op17", "vit-ts-static-op17", "gpt2-dynamo-op20", "llama-genai-int4")
PLANS = (
    "--tp 2 --shares 3,1",
    "--tp 3 --sp --shares 5,2,1",
    "--tp 4 --shares 9,1,1,1",
    "--cp 2 --shares 3,1",
    "--cp 3 --tp 2 --shares 1,4,2 --shares 1,3",
    "--cp 2 --cp-mode ulysses --shares 1,3",
    "--cp 2 --cp-mode gather --tp 2 --shares cp=2,1 --shares tp=3,1 --sp",
    "--fsdp 2 --tp 2 --shares fsdp=3,1",
    "--pp 2 --dp 2 --tp 2 --shares tp=1,3",
)
SLOW, FAST = "l40s", "h100"


class Shares(PlanTest):
    def topology(self, *devices, per_node=1):
        file = self.folder / "machine.json"
        machine = {"nodes": len(devices), "devices_per_node": per_node, "devices": list(devices)}
        links = {"gigabytes_per_second": 400, "microseconds": 2}
        file.write_text(json.dumps(machine | {"inside_node": links, "between_nodes": links}))
        return file

    def test_models_under_each_plan(self):
        self.check_models(MODELS, PLANS)

    def test_heads_and_weights_are_cut_by_shares(self):
        """8 heads over 3, 1 are 6 and 2, with all that belongs to them."""
        llama = model_file("llama-dynamo-op18")
        whole = self.report(llama, "--tp 1")["ranks"][0]["weight_bytes"]
        report = self.report(llama, "--tp 2 --shares 3,1")
        self.assertEqual(report["shares"], {"tp": [3, 1]})
        shared = sum(entry["bytes"] for entry in report["whole_weights"])
        parts = [rank["weight_bytes"] - shared for rank in report["ranks"]]
        self.assertEqual(sum(parts), whole - shared)
        self.assertAlmostEqual(parts[0] / sum(parts), 0.75, delta=0.01)
        equal = [rank["weight_bytes"] for rank in self.report(llama, "--tp 2")["ranks"]]
        self.assertEqual(equal[0], equal[1])

    def test_equal_shares_are_the_plain_mesh(self):
        llama = model_file("llama-dynamo-op18")
        lowered = lambda *flags: self.run_ok("shardc", llama, *flags, "--to", "lowered")
        self.assertEqual(lowered("--tp", 2, "--shares", "4,4"), lowered("--tp", 2))
        self.assertEqual(lowered("--tp", 2, "--shares", "6,2"), lowered("--tp", 2, "--shares", "tp=3,1"))
        self.assertIn('<["tp"=2:[3, 1]]>', lowered("--tp", 2, "--shares", "6,2"))

    def test_any_number_of_rows(self):
        """Ranks without a row, or a position, do what the others wait for."""
        plans = ("--tp 2 --sp --shares 3,1", "--cp 2 --shares 1,7", "--fsdp 3 --shares 1,1,6", "--tp 4 --sp --shares 1,1,2,8")
        self.check_prompts(plans, [(1, 1), (1, 2), (2, 5), (5, 7)])

    def test_a_prompt_and_steps(self):
        """Caches lie where their heads are, which are more on some ranks."""
        plans = ("--tp 2 --shares 3,1", "--fsdp 2 --tp 2 --shares fsdp=1,2 --shares tp=3,1", "--cp 2 --tp 2 --shares tp=1,3")
        self.check_prompt_and_steps(plans, batch=3)

    def test_experts(self):
        """Four experts over 3, 1 are three and one; tokens go where theirs are."""
        model = experts_model(experts=8)
        file = self.folder / "experts.onnx"
        onnx.save(model, file)
        for tokens in (1, 7, 12):
            x = np.random.default_rng(tokens).normal(size=(tokens, 8)).astype(np.float32)
            np.savez(self.folder / "x.npz", input=x)
            expected = ReferenceEvaluator(model).run(None, {"input": x})[0]
            for plan in ("--ep 2 --shares 3,1", "--ep 3 --sp --shares 5,2,1", "--ep 2 --tp 2 --sp --shares ep=1,3 --shares tp=2,1",
                         "--ep 2 --ep-mode batch --shares 1,3"):  # fmt: skip
                with self.subTest(plan, tokens=tokens):
                    out = self.folder / "out"
                    self.run_ok("shardrun", self.artifact(file, plan), "--inputs", self.folder / "x.npz", "--outputs", out)
                    self.assert_same_numbers(read_outputs(out), [expected])
        text = self.run_ok("shardc", file, "--ep", 2, "--sp", "--shares", "3,1", "--to", "partitioned")
        self.assertIn("dist.dispatch", text)

    def test_verify_says_that_it_computes_the_same(self):
        for name, plan in (("llama-dynamo-op18", PLANS[1]), ("bert-ts-op17", PLANS[4])):
            self.assertIn("computes what one rank computes", self.run_ok("shardc", "verify", model_file(name), *plan.split()))

    def test_copied_weights(self):
        name = "gpt2-dynamo-op20"
        expected = self.execute(self.compile(model_file(name), 1, to="one.shard"), data_sets(name)[0])
        for plan in PLANS[:2]:
            artifact = self.artifact(model_file(name), plan, "--weights", "copy")
            self.assert_same_numbers(self.execute(artifact, data_sets(name)[0]), expected)

    def test_on_devices_that_are_not_the_host(self):
        """Collectives of devices have slots of one size, that of the largest part."""
        targets = [("fake", FAKE)] + ([("cuda", {"SHARDC_BACKENDS": str(PLUGIN.parent)})] if PLUGIN.exists() else [])
        for name in ("llama-dynamo-op18", "bert-ts-op17"):
            data = data_sets(name)[0]
            expected = self.execute(self.compile(model_file(name), 1, to="one.shard"), data)
            for device, environment in targets:
                for plan in (PLANS[0], PLANS[1], PLANS[4], PLANS[6]):
                    with self.subTest(name, device=device, plan=plan):
                        flags = ["--target", "cuda"] if device == "cuda" else []
                        artifact, out = self.artifact(model_file(name), plan, *flags), self.folder / "out"
                        command = [BIN / "shardrun", artifact, "--device", device, "--inputs", data, "--expect", data,
                                   "--outputs", out, "--check-replicas", "--repeat", 3]  # fmt: skip
                        done = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=300,
                                              env=os.environ | environment)  # fmt: skip
                        self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr[-1000:])
                        self.assert_same_numbers(read_outputs(out), expected)

    def test_collectives_in_parts_beside_products(self):
        """Each rank's part is not cut into equal ones; other rows are."""
        name = "llama-dynamo-op18"
        expected = self.execute(self.compile(model_file(name), 1, to="one.shard"), data_sets(name)[0])
        for plan in ("--tp 2 --shares 3,1", "--tp 2 --sp --shares 3,1"):
            artifact = self.artifact(model_file(name), plan, "--target", "cuda", "--overlap", "2")
            self.assert_same_numbers(self.execute(artifact, data_sets(name)[0], "--device", "host"), expected)

    def test_files_of_ranks_name_them(self):
        folder = self.folder / "ranks"
        self.run_ok("shardc", model_file("bert-ts-op17"), "--tp", 2, "--shares", "3,1", "--emit", "onnx", "-o", folder)
        mesh = json.loads((folder / "manifest.json").read_text())["mesh"]
        self.assertEqual(mesh, [{"name": "tp", "size": 2, "shares": [3, 1]}])

    def test_annotations_have_equal_parts(self):
        file = self.folder / "m.onnx"
        flags = ["--tp", 2, "--shares", "3,1", "--emit", "annotated-onnx", "-o", file]
        done = program("shardc", model_file("bert-ts-op17"), *flags)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--emit annotated-onnx: the parts of ONNX's annotations are equal", done.stderr)
        self.assertFalse(file.exists())

    def test_plans_keep_them(self):
        llama, plan = model_file("llama-dynamo-op18"), self.folder / "plan.json"
        flags = ["--tp", 3, "--sp", "--shares", "5,2,1"]
        searched = self.run_ok("shardc", llama, *flags, "--to", "partitioned", "--save-plan", plan)
        self.assertEqual(json.loads(plan.read_text())["mesh"], [{"name": "tp", "size": 3, "shares": [5, 2, 1]}])
        self.assertEqual(self.run_ok("shardc", llama, "--load-plan", plan, "--to", "partitioned"), searched)
        artifact = self.artifact(llama, "--tp 3 --sp --shares 5,2,1")
        manifest = json.loads((artifact / "manifest.json").read_text())
        self.assertEqual(manifest["mesh"], [{"name": "tp", "size": 3, "shares": [5, 2, 1]}])
        self.assertEqual(self.run_ok("shardc", llama, "--load-plan", artifact, "--to", "partitioned"), searched)
        self.assertIn("ranks of tp have parts of [5,2,1] of what it splits", self.run_ok("shardc", "explain", artifact))
        text = self.folder / "partitioned.mlir"
        text.write_text(searched)
        again = self.folder / "again.shard"
        self.run_ok("shardc", text, "--from", "partitioned", "-o", again)
        self.assertEqual((again / "manifest.json").read_text().count('"shares"'), 1)
        difference = program("shardc", "diff", artifact, self.artifact(llama, "--tp 3 --sp", to="equal.shard"))
        self.assertEqual(difference.returncode, 1)
        self.assertRegex(difference.stdout, r"mesh\s+tp 3:\[5,2,1\]\s+tp 3")
        damaged = json.loads(plan.read_text())
        for shares, words in (([5, 2], "tp has 3 ways; name 3 numbers"), ([5, 2, 0], "a number from 1 to 1000"), ("x", '"shares" is no list')):
            damaged["mesh"][0]["shares"] = shares
            plan.write_text(json.dumps(damaged))
            done = program("shardc", llama, "--load-plan", plan, "--to", "partitioned")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)

    def test_auto_goes_by_the_devices(self):
        llama = model_file("llama-dynamo-op18")

        def said(*flags, devices, per_node=1):
            done = program("shardc", llama, *flags, "--shares", "auto", "--topology", self.topology(*devices, per_node=per_node),
                           "--to", "sharded")  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stderr.splitlines()[0]

        self.assertEqual(said("--tp", 2, devices=[FAST, SLOW]), "shares: tp=4,1")
        self.assertEqual(said("--tp", 2, devices=[SLOW, FAST]), "shares: tp=1,4")
        self.assertEqual(said("--tp", 4, devices=[FAST, SLOW], per_node=2), "shares: tp=4,4,1,1")
        # Where "tp" stays inside a node, "cp" has the difference.
        self.assertEqual(said("--cp", 2, "--tp", 2, devices=[FAST, SLOW], per_node=2), "shares: cp=4,1")
        self.assertEqual(said("--tp", 2, devices=[FAST, FAST]), "shares: equal: along no axis do devices differ")
        done = program("shardc", "verify", llama, "--tp", 2, "--shares", "auto", "--topology", self.topology(FAST, SLOW))
        self.assertEqual((done.returncode, done.stderr.splitlines()), (0, ["shares: tp=4,1"]))
        self.assertIn("the plan computes what one rank computes", done.stdout)
        links = json.loads(self.topology(FAST, SLOW).read_text())
        del links["devices"]
        (self.folder / "links.json").write_text(json.dumps(links))
        done = program("shardc", llama, "--tp", 2, "--shares", "auto", "--topology", self.folder / "links.json", "--to", "sharded")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
        self.assertIn("links.json says nothing about devices", done.stderr)

    def test_shares_that_suit_devices_are_predicted_to_be_faster(self):
        large.decoder(self.folder, layers=2, hidden=4096, heads=32, kv_heads=8, inner=14336, vocabulary=128256)
        machine = self.topology(FAST, SLOW)

        def predicted(*flags, topology=machine):
            file = self.folder / "plans.json"
            self.run_ok("shardc", "plan", self.folder / "model.onnx", "--topology", topology, "--dims", "batch=8,seq=1024,past=1024",
                        "--tp", 2, "--pp", 1, "--dp", 1, "--cp", 1, "--fsdp", 1, "--sp", "off", "--json", file, *flags)  # fmt: skip
            (candidate,) = json.loads(file.read_text())["candidates"]
            return candidate

        equal, auto, given = predicted(), predicted("--shares", "auto"), predicted("--shares", "4,1")
        wrong = predicted("--shares", "1,4")
        self.assertEqual((auto["shares"], auto["flags"]), ({"tp": [4, 1]}, "--tp 2 --shares tp=4,1"))
        self.assertEqual(auto["seconds"], given["seconds"])
        for phase in ("prefill", "decode"):
            self.assertLess(auto["seconds"][phase], 0.6 * equal["seconds"][phase])
            self.assertLess(equal["seconds"][phase], wrong["seconds"][phase])
        # Of equal devices equal parts are the faster ones.
        alike = self.topology(FAST, FAST)
        plain, shared = predicted(topology=alike), predicted("--shares", "3,1", topology=alike)
        self.assertLess(plain["seconds"]["decode"], 0.8 * shared["seconds"]["decode"])
        self.assertEqual(predicted("--shares", "auto", topology=alike)["seconds"], plain["seconds"])
        # The fuller rank is the one whose device has less room for its part.
        self.assertLess(auto["memory"]["total"], auto["memory"]["limit"])
        self.assertEqual(auto["memory"]["limit"], 80e9)

    def test_mistakes(self):
        llama = model_file("llama-dynamo-op18")
        for flags, words in (
            (["--tp", "2", "--shares", "3,1,1"], "--shares 3,1,1: tp has 2 ways; name 2 numbers"),
            (["--tp", "2", "--shares", "tp=3"], "--shares tp=3: tp has 2 ways; name 2 numbers"),
            (["--tp", "2", "--shares", "3,0"], "--shares 3,0: expected numbers from 1 to 1000, one for each way, for example 3,1"),
            (["--tp", "2", "--shares", "3,-1"], "--shares 3,-1: expected numbers from 1 to 1000"),
            (["--tp", "2", "--shares", "3,x"], "--shares 3,x: expected numbers from 1 to 1000"),
            (["--tp", "2", "--shares", "3,"], "--shares 3,: expected numbers from 1 to 1000"),
            (["--tp", "2", "--shares", "3,1001"], "--shares 3,1001: expected numbers from 1 to 1000"),
            (["--tp", "2", "--shares", "3,99999999999999999999"], "expected numbers from 1 to 1000"),
            (["--shares", "3,1"], "--shares 3,1: no axis splits values; give an axis ways, for example --tp 2"),
            (["--shares", "tp=3,1"], "--shares tp=3,1: tp has 1 way; use --tp 2"),
            (["--dp", "2", "--tp", "2", "--shares", "dp=3,1"], "--shares dp=3,1: dp splits no value; tp has 2 ways"),
            (["--pp", "2", "--shares", "pp=3,1"], "pp splits no value; give an axis ways, for example --tp 2"),
            (["--tp", "2", "--shares", "xp=3,1"], '--shares xp=3,1: there is no axis "xp"; tp has 2 ways'),
            (["--cp", "2", "--tp", "2", "--shares", "3,1"],
             "--shares 3,1: cp and tp have 2 ways; name one of them, for example --shares tp=3,1"),
            (["--cp", "2", "--tp", "3", "--shares", "1,2,3,4"], "no axis has as many ways; cp has 2 ways, tp has 3 ways"),
            (["--tp", "2", "--shares", "3,1", "--shares", "tp=2,1"], "--shares tp=2,1: tp has shares already"),
            (["--tp", "2", "--shares", "auto"], "--shares auto: needs --topology"),
            (["--tp", "2", "--shares", "auto", "--shares", "3,1"], "--shares auto: is for all axes; leave the others out"),
            (["--auto", "--topology", "h100:1x2", "--shares", "3,1"], "--shares 3,1: --auto chooses the axes; use --shares auto"),
        ):  # fmt: skip
            with self.subTest(flags):
                done = program("shardc", llama, *flags, "-o", self.folder / "m.shard")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(words, done.stderr)
        plan = self.folder / "plan.json"
        self.run_ok("shardc", llama, "--tp", 2, "--save-plan", plan)
        done = program("shardc", llama, "--load-plan", plan, "--shares", "3,1", "--to", "sharded")
        self.assertIn("--shares: --load-plan has it", done.stderr)


class SharesOfProcesses(ProcessTest):
    def test_processes(self):
        data = data_sets(LLAMA)[0]
        for plan, size in (("--tp 2 --shares 3,1", 2), ("--tp 3 --sp --shares 5,2,1", 3), ("--cp 3 --shares 1,1,3", 3)):
            with self.subTest(plan):
                artifact = self.artifact(model_file(LLAMA), plan)
                run = lambda *arguments: self.run_processes(by_hand(size), *arguments)
                self.assert_like_threads(artifact, run, "--inputs", data, "--expect", data)


if __name__ == "__main__":
    unittest.main()
