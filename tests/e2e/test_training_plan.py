"""`shardc plan --training`: what steps of training would take, as arithmetic."""

import json

from tests.large import gpt
from tests.support import EndToEnd, model_file, program

SIZES = {"layers": 8, "hidden": 2048, "heads": 16, "vocabulary": 4096, "positions": 1024}


class TrainingPlan(EndToEnd):
    def setUp(self):
        super().setUp()
        self.model, self.parameters = gpt(self.folder, **SIZES)

    def plan(self, *flags, batch=16, topology="a100:2x8", ways=("--pp", 1, "--dp", 1), status=0):
        file = self.folder / "plan.json"
        dims = ["--dims", f"batch={batch},seq=1024", "--cp", 1]
        done = program("shardc", "plan", self.model, "--topology", topology, "--training", "--json", file, *dims, *ways, *flags)
        self.assertEqual(done.returncode, status, done.stderr)
        self.text = done.stdout
        return json.loads(file.read_text())["candidates"][0]

    def test_parts_add_up(self):
        found = self.plan("--tp", 4, "--recompute", "selective", "--attention", "unfused", "--dropout")
        seconds, memory = found["seconds"], found["memory"]
        steps = sum(seconds[part] for part in ("forward", "backward", "recomputation", "gradients", "optimizer", "bubble"))
        self.assertAlmostEqual(steps, seconds["step"], delta=1e-9)
        busy = sum(seconds[part] for part in ("compute", "read", "communication", "bubble"))
        self.assertAlmostEqual(busy, seconds["step"], delta=1e-9)
        parts = ("weights", "gradients", "optimizer", "activations", "buffers")
        self.assertAlmostEqual(sum(memory[part] for part in parts), memory["total"], delta=5)
        self.assertEqual(seconds["micro_batches"], 16)
        self.assertAlmostEqual(found["tokens_per_second"], 16 * 1024 / seconds["step"], delta=1)
        self.assertIn("step ms", self.text)
        self.assertNotIn("prompt ms", self.text)

    def test_ranks_may_have_unequal_parts(self):
        """Of each op the slowest rank counts, of memory the one that has least room on its own device."""
        ways = ("--tp", 2, "--pp", 1, "--dp", 1)
        equal, unequal = (self.plan("--shares", shares, ways=ways) for shares in ("1,1", "3,1"))
        self.assertEqual(unequal["shares"], {"tp": [3, 1]})
        self.assertGreater(unequal["seconds"]["forward"], 1.15 * equal["seconds"]["forward"])
        self.assertLess(unequal["seconds"]["forward"], 1.5 * equal["seconds"]["forward"])
        split = equal["memory"]["weights"] * 2 / self.parameters / 2  # but for vectors and positions, that are whole
        self.assertAlmostEqual(unequal["memory"]["weights"] / equal["memory"]["weights"], 1.5, delta=0.02 * split)
        self.assertEqual(self.plan(ways=ways)["seconds"], equal["seconds"])
        machine = self.folder / "two.json"
        machine.write_text(json.dumps({"nodes": 2, "devices_per_node": 1, "devices": ["h100", "l40s"],
                                       "inside_node": {"gigabytes_per_second": 25, "microseconds": 4},
                                       "between_nodes": {"gigabytes_per_second": 25, "microseconds": 12}}))  # fmt: skip
        auto, half = (self.plan("--shares", shares, ways=ways, topology=machine) for shares in ("auto", "1,1"))
        self.assertGreater(auto["shares"]["tp"][0], auto["shares"]["tp"][1])
        self.assertLess(auto["seconds"]["step"], half["seconds"]["step"])
        self.assertEqual((auto["memory"]["limit"], half["memory"]["limit"]), (80e9, 48e9))

    def test_backward_is_about_twice_forward(self):
        seconds = self.plan("--tp", 1, "--micro-batch", 16)["seconds"]
        self.assertGreater(seconds["backward"], 1.8 * seconds["forward"])
        self.assertLess(seconds["backward"], 2.6 * seconds["forward"])
        self.assertEqual(seconds["recomputation"], 0)

    def test_parameters_take_sixteen_bytes(self):
        memory = self.plan("--tp", 1)["memory"]
        self.assertEqual(memory["weights"], 2 * self.parameters)
        self.assertEqual(memory["gradients"], 2 * self.parameters)
        self.assertEqual(memory["optimizer"], 12 * self.parameters)
        wide = self.plan("--tp", 1, "--gradient-bits", 32)["memory"]
        self.assertEqual(wide["gradients"], 4 * self.parameters)

    def activations(self, *flags):
        return self.plan("--micro-batch", 4, "--dropout", "--attention", "unfused", *flags, ways=("--pp", 1, "--dp", 1))["memory"]["activations"]

    def test_activations_are_those_of_korthikanti(self):
        s, b, h, a, layers = 1024, 4, SIZES["hidden"], SIZES["heads"], SIZES["layers"]
        t = 4
        head = s * b * h * 4 + 6 * s * b * SIZES["vocabulary"] / t  # the last norm; logits and their f32
        formulas = {
            ("--sp", "off"): s * b * h * (10 + 24 / t + 5 * a * s / (h * t)),
            ("--sp", "on"): s * b * h * (34 + 5 * a * s / h) / t,
            ("--sp", "on", "--recompute", "selective"): 34 * s * b * h / t,
        }
        for flags, layer in formulas.items():
            with self.subTest(flags):
                found = self.activations("--tp", t, *flags)
                self.assertAlmostEqual(found / (layers * layer + head), 1, delta=0.03)

    def test_full_recomputation_runs_forward_again_and_keeps_little(self):
        none, full = (self.plan("--tp", 2, "--recompute", which) for which in ("none", "full"))
        layers = SIZES["layers"] * full["seconds"]["layer"]["forward"] * full["seconds"]["micro_batches"]
        self.assertAlmostEqual(full["seconds"]["recomputation"], layers, delta=0.02 * layers)
        self.assertLess(full["memory"]["activations"], none["memory"]["activations"] / 3)

    def test_bubbles_shrink_with_chunks(self):
        ways = ("--pp", 4, "--dp", 1, "--tp", 1)
        plain = self.plan(ways=ways, topology="a100:1x4")["seconds"]
        chunks = self.plan("--interleave", 2, ways=ways, topology="a100:1x4")["seconds"]
        # (p - 1) / m of the rest, as far as stages are equal: the head makes the last one longer.
        self.assertAlmostEqual(plain["bubble"] / plain["step"], 3 / 19, delta=0.04)
        self.assertAlmostEqual(chunks["bubble"] / plain["bubble"], 1 / 2, delta=0.02)

    def test_what_replicas_share_out(self):
        ways = ("--tp", 1, "--pp", 1, "--dp", 16)
        for stage, shares in enumerate(((1, 1, 1), (1, 1, 16), (1, 16, 16), (16, 16, 16))):
            memory = self.plan("--zero", stage, ways=ways)["memory"]
            for part, bytes, share in zip(("weights", "gradients", "optimizer"), (2, 2, 12), shares, strict=True):
                self.assertAlmostEqual(memory[part], bytes * self.parameters / share, delta=2)

    def test_sums_of_gradients_run_beside_the_backward_pass(self):
        ways = ("--tp", 1, "--pp", 1, "--dp", 16)
        behind, beside = (self.plan("--replica-overlap", which, ways=ways)["seconds"]["gradients"] for which in ("off", "on"))
        self.assertLess(beside, behind)

    def test_the_best_degrees_come_first(self):
        file = self.folder / "plan.json"
        flags = ["--training", "--dims", "batch=64,seq=1024", "--goal", "latency", "--recompute", "selective"]
        done = program("shardc", "plan", self.model, "--topology", "h100:1x8", "--json", file, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        plans = json.loads(file.read_text())["candidates"]
        self.assertGreater(len(plans), 8)
        fitting = [plan["seconds"]["step"] for plan in plans if plan["fits"]]
        self.assertLess(fitting[0], 1.02 * min(fitting))
        self.assertIn("the shortest step", done.stdout)

    def test_mistakes(self):
        base = ["plan", self.model, "--topology", "a100:1x8", "--dims", "batch=4,seq=1024"]
        for flags, words in (
            ([*base, "--recompute", "full"], "--recompute requires --training"),
            ([*base, "--training", "--recompute", "some"], "--recompute"),
            ([*base, "--training", "--zero", 4], "--zero"),
            ([*base, "--training", "--dp", 8], "error: --training: a batch of 4 has no 8 times 1 rows; change --dims batch"),
            ([*base, "--training", "--pp", 8, "--interleave", 2], "its 8 equal layers make no 16 chunks"),
            ([*base, "--training", "--tp", 16], "fewer devices than that takes"),
            ([*base, "--training", "--report", "r.html"], "--report"),
        ):
            done = program("shardc", *flags)
            self.assertEqual(done.returncode, 2, flags)
            self.assertIn(words, done.stderr)

    def test_a_real_export_can_be_weighed_too(self):
        file = self.folder / "plan.json"
        done = program("shardc", "plan", model_file("llama-dynamo-op18"), "--topology", "a100:1x2", "--training", "--json", file,
                       "--dims", "batch=4,seq=8")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        for plan in json.loads(file.read_text())["candidates"]:
            self.assertGreater(plan["seconds"]["step"], 0)
