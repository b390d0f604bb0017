"""What is said of plans that are there: `shardc explain`, `lint` and `diff`."""

import json
import re

from tests.large import decoder
from tests.support import EndToEnd, model_file, program

MODEL = {"layers": 12, "hidden": 256, "heads": 8, "kv_heads": 4, "inner": 512, "vocabulary": 1000}
DIMS = ["--dims", "batch=1,seq=16,past=16"]


class PlanRules(EndToEnd):
    def setUp(self):
        super().setUp()
        self.model, _ = decoder(self.folder, **MODEL)

    def lint(self, plan, *rules, flags=()):
        file = self.folder / "rules"
        file.write_text("\n".join(rules))
        done = program("shardc", "lint", plan, file, *flags)
        return done.returncode, done.stdout + done.stderr

    def test_an_artifact_explains_itself(self):
        artifact = self.compile(self.model, 2, "--pp", 2, *DIMS)
        said = self.run_ok("shardc", self.model, "--tp", 2, "--pp", 2, *DIMS, "--explain")
        self.assertEqual(self.run_ok("shardc", "explain", artifact), said)
        self.assertEqual(self.run_ok("shardc", "explain", self.model, "--tp", 2, "--pp", 2, *DIMS), said)

    def test_flags_beside_an_artifact_are_mistakes(self):
        """It has its plan: they would change nothing of what is said."""
        artifact = self.compile(self.model, 2, "--sp", *DIMS)
        report = self.folder / "report.json"
        self.run_ok("shardc", self.model, "--tp", 2, "--sp", *DIMS, "--explain-json", report)
        rules = self.folder / "rules"
        rules.write_text("max all_reduce per layer 2\n")
        degrees = [[f"--{axis}", "2"] for axis in ("tp", "pp", "cp", "ep", "fsdp", "dp", "micro-batches", "overlap")]
        others = [["--sp"], ["--shares", "tp=3,1"], ["--rank-order", "tp,pp"], ["--cp-mode", "gather"], ["--ep-mode", "batch"],
                  ["--load-plan", artifact], ["--pin", "down0=[{}, {}]"], ["--annotations", "none"], ["--no-recovery"],
                  ["--precision", "f64"], ["--compute", "bf16"], ["--kernels", "reference"], ["--plan-dims", "batch=2"], ["--topology", "h100:1x2"], DIMS]  # fmt: skip
        for flags in degrees + others:
            for plan in (artifact, report):
                for words in (["explain", plan], ["lint", plan, rules]):
                    with self.subTest(words=words, flags=flags):
                        done = program("shardc", *words, *flags)
                        self.assertEqual((done.returncode, done.stdout), (2, ""))
                        sp = " --sp" if plan == artifact else ""  # of a report only the mesh is told
                        self.assertRegex(done.stderr, f"^error: {flags[0]}: [^\n]* has its plan \\(--tp 2{sp}\\); leave")
                        again = f"shardc {words[0]} {self.model.resolve() if plan == artifact else 'MODEL'} {flags[0]} ..."
                        self.assertIn(again, done.stderr)

    def test_an_artifact_is_no_model(self):
        artifact = self.compile(self.model, 2)
        for words, again in (
            (["verify", artifact, "--tp", 4], f"shardc verify {self.model.resolve()} --load-plan {artifact}"),
            ([artifact, "--tp", 4, "-o", self.folder / "other.shard"], f"shardc {self.model.resolve()} --load-plan {artifact}"),
            (["check", artifact], f"shardc check {self.model.resolve()}"),
            (["plan", artifact, "--topology", "h100:1x4"], f"shardc plan {self.model.resolve()}"),
        ):
            done = program("shardc", *words)
            self.assertEqual((done.returncode, done.stderr.count("error: ")), (2, 1), done.stderr)
            self.assertIn(f"{artifact}: is an artifact, which has its plan (--tp 2); expected a model: {again}\n", done.stderr)

    def test_a_node_with_several_collectives_is_named_once(self):
        """Of 4-bit weights numbers and scales are gathered, by one node."""
        status, said = self.lint(model_file("llama-genai-int4"), "no collective of weights", flags=["--fsdp", 2])
        self.assertEqual(status, 1)
        self.assertIn(": 22: /model/layers.0/attn/qkv_proj/MatMul_Q4 (2), /model/layers.0/attn/o_proj/MatMul_Q4 (2), "
                      "/model/layers.0/mlp/gate_proj/MatMul_Q4 (2), /model/layers.0/mlp/up_proj/MatMul_Q4 (2) and 14 more", said)  # fmt: skip

    def test_layers_are_told_once(self):
        said = self.run_ok("shardc", "explain", self.model, "--tp", 2, *DIMS)
        self.assertIn("25 collectives per run", said)
        self.assertEqual(said.count("all_reduce over tp"), 2)
        self.assertIn("and 11 times more like these 2, up to downed11", said)

    def test_layers_are_those_of_the_model(self):
        report = self.explain(self.model, 2)
        layers = {}
        for entry in report["collectives"]:
            if "layer" in entry:
                layers.setdefault(entry["layer"], []).append(entry["node"])
        self.assertEqual(layers, {n: [f"out{n}", f"downed{n}"] for n in range(12)})

    def test_a_node_has_its_causes(self):
        artifact = self.compile(self.model, 2)
        said = self.run_ok("shardc", "explain", artifact, "downed3")
        self.assertIn("downed3 (MatMul)\n  operand 0, dim 2: its factor of 512 is split over tp, as in 7 others", said)
        self.assertIn("without communication: gate3, up3, down3, gated3, act3, upped3, ...", said)
        self.assertIn("all_reduce over tp", said)
        self.assertEqual(said.count("  the best alternative, "), 1)
        self.assertEqual(self.run_ok("shardc", "explain", self.model, "downed3", "--tp", 2), said)
        self.assertIn("norm3.scale is held whole by each rank: ", self.run_ok("shardc", "explain", artifact, "norm3.scale"))
        done = program("shardc", "explain", artifact, "downd3")
        self.assertEqual(done.returncode, 2)
        self.assertIn('nothing splits "downd3"', done.stderr)
        self.assertRegex(done.stderr, "the nearest one that is split is down(ed)?3")

    def test_an_artifact_knows_its_alternatives(self):
        """As the same flags of the model's file tell them."""
        slow = self.folder / "slow.json"
        links = {"gigabytes_per_second": 0.01, "microseconds": 1000}
        slow.write_text(json.dumps({"nodes": 2, "devices_per_node": 2, "preset": "h100", "between_nodes": links}))
        long = ["--dims", "batch=8,seq=2048,past=0"]
        for flags in (
            ["--tp", 2, "--sp", *long, "--topology", "h100:1x2"],
            ["--tp", 4, *long, "--topology", slow],
            ["--tp", 2, "--pp", 2, "--plan-dims", "batch=4,seq=512,past=0", "--no-recovery"],
            ["--fsdp", 2, "--tp", 2, "--pin", "upped3=[{}, {}, {}]", "--precision", "f64"],
        ):
            for node in ("upped3", "up3", "norm3.scale"):
                with self.subTest(flags, node=node):
                    expected = self.run_ok("shardc", "explain", self.model, node, *flags)
                    artifact = self.folder / "plan.shard"
                    self.run_ok("shardc", self.model, *flags, "-o", artifact)
                    self.assertEqual(self.run_ok("shardc", "explain", artifact, node), expected)
                    self.assertEqual("the best alternative" in expected, node != "norm3.scale")

    def test_an_artifact_without_its_model(self):
        artifact = self.compile(self.model, 2)
        priced = self.run_ok("shardc", "explain", artifact, "downed3")
        moved = self.folder / "moved.onnx"
        self.model.rename(moved)
        said = self.run_ok("shardc", "explain", artifact, "downed3")
        why = f"is not there; where the model is, shardc explain MODEL NODE --load-plan {artifact} says it\n"
        self.assertRegex(said, f"what another sharding would cost is not known: .*{self.model.name} {re.escape(why)}")
        self.assertEqual(self.run_ok("shardc", "explain", moved, "downed3", "--load-plan", artifact), priced)
        self.model.write_bytes(moved.read_bytes() + b"\0")
        self.assertIn(f"{self.model.name} is not what was compiled; ", self.run_ok("shardc", "explain", artifact, "downed3"))
        self.model.write_bytes(moved.read_bytes())
        self.assertEqual(self.run_ok("shardc", "explain", artifact, "downed3"), priced)
        text = self.folder / "text.mlir"
        text.write_text(self.run_ok("shardc", self.model, "--tp", 2, "--to", "sharded"))
        self.run_ok("shardc", text, "--from", "sharded", "-o", self.folder / "text.shard")
        done = program("shardc", "explain", self.folder / "text.shard", "downed3")
        self.assertIn("downed3", done.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_another_sharding_costs(self):
        def price(node, *flags):
            said = self.run_ok("shardc", "explain", self.model, node, "--tp", 2, *flags)
            found = re.search(r"the best alternative, (.*) instead of (.*), takes ([\d.]+) us (more|less) a run", said)
            self.assertIsNotNone(found, said)
            return found[1], found[2], float(found[3]) * (1 if found[4] == "more" else -1)

        # The slower the links, the more is saved by doing without the sum.
        slow = self.folder / "slow.json"
        links = {"gigabytes_per_second": 0.01, "microseconds": 1000}
        slow.write_text(json.dumps({"nodes": 2, "devices_per_node": 1, "preset": "h100", "between_nodes": links}))
        long = ["--dims", "batch=8,seq=2048,past=0"]
        other, own, fast_cost = price("upped3", *long, "--topology", "h100:1x2")
        self.assertEqual((other, own), ('[{"tp"=2}, {}, {}]', '[{}, {}, {"tp"=2}]'))  # rows of the batch instead
        self.assertLess(price("upped3", *long, "--topology", slow)[2], min(0, fast_cost))
        # A weight has the choices of its product.
        self.assertEqual(price("up3", *long)[:2], ("[{}, {}]", '[{}, {"tp"=2}]'))

    def test_rules_that_are_kept_and_broken(self):
        artifact = self.compile(self.model, 2, *DIMS)
        kept = ["max all_reduce per layer 2", "no all_gather of weights", "memory per rank <= 1 GiB"]
        for plan, flags in ((artifact, []), (self.model, ["--tp", 2, *DIMS])):
            self.assertEqual(self.lint(plan, *kept, flags=flags), (0, "3 rules are kept\n"))
            status, said = self.lint(plan, *kept, "max all_reduce per layer 1", flags=flags)
            self.assertEqual(status, 1)
            self.assertIn("rules:4: max all_reduce per layer 1: each of layers 0 to 11 has 2: out0, downed0\n", said)

    def test_gathered_weights_are_named(self):
        """Seven matrices of each layer and the head, in every plan that shares them out."""
        rule = "no all_gather of weights"
        for tp, more in ((1, []), (2, []), (1, ["--pp", 2])):
            flags = ["--fsdp", 2, *more, *DIMS]
            artifact = self.compile(self.model, tp, *flags)
            for plan, given in ((artifact, []), (self.model, ["--tp", tp, *flags])):
                with self.subTest(tp=tp, more=more, given=given):
                    status, said = self.lint(plan, rule, flags=given)
                    self.assertEqual(status, 1)
                    self.assertIn(f"rules:1: {rule}: 85: q0.flat, k0.flat, v0.flat, out0 and 81 more\n", said)

    def test_layers_of_what_text_says(self):
        for phase, flags, kept in (("imported", ["--tp", 2], True), ("sharded", [], False)):
            file = self.folder / f"{phase}.mlir"
            file.write_text(self.run_ok("shardc", self.model, "--tp", 2, "--to", phase))
            artifact = self.folder / f"{phase}.shard"
            self.run_ok("shardc", file, "--from", phase, *flags, "-o", artifact)
            status, said = self.lint(artifact, "max all_reduce per layer 2")
            self.assertEqual(status, 0 if kept else 1, said)
            self.assertIn("1 rules are kept" if kept else "which layer a node is in is not known", said)

    def test_links_need_a_topology(self):
        rule = "no collective between nodes except dp, pp"
        status, said = self.lint(self.model, rule, flags=["--tp", 2, *DIMS])
        self.assertEqual(status, 1)
        self.assertIn("which links are used is not known; give --topology", said)
        inside = self.lint(self.model, rule, flags=["--tp", 2, "--pp", 2, "--topology", "h100:2x2"])
        self.assertEqual(inside, (0, "1 rules are kept\n"))
        status, said = self.lint(self.model, rule, flags=["--tp", 4, "--topology", "h100:2x2"])
        self.assertEqual(status, 1)
        self.assertIn("25: ", said)

    def test_plans_are_compared(self):
        two, four = self.compile(self.model, 2, *DIMS, to="two"), self.compile(self.model, 2, "--sp", *DIMS, to="four")
        done = program("shardc", "diff", two, four)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "(?m)^only in the first: all_reduce over tp at downed0, and 11 more like this$")
        self.assertRegex(done.stdout, "(?m)^only in the second: reduce_scatter over tp at downed0 of decode|reduce_scatter")
        done = program("shardc", "diff", two, two)
        self.assertEqual((done.returncode, done.stdout), (0, "the same plan\n"))
        report = self.folder / "two.json"
        self.run_ok("shardc", self.model, "--tp", 2, *DIMS, "--explain-json", report)
        self.assertEqual(program("shardc", "diff", two, report).returncode, 0)

    def test_mistakes(self):
        status, said = self.lint(self.model, "max all_reduce per token 2", flags=["--tp", 2])
        self.assertEqual(status, 2)
        self.assertIn('line 1, "max all_reduce per token 2": expected layer or run, found "token"', said)
        done = program("shardc", "lint", self.model, self.folder / "none")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none: cannot be read", done.stderr)
        (self.folder / "other.json").write_text(json.dumps({"mesh": {}}))
        for plan in (self.folder, self.folder / "other.json", self.folder / "absent.shard"):
            for command in (["explain", plan], ["diff", plan, plan]):
                done = program("shardc", *command)
                self.assertEqual(done.returncode, 4, command)
                self.assertRegex(done.stderr, "error: (cannot read .*|.* expected an artifact)")
