"""`shardc plan` and `--auto`: which degrees suit a model and a machine, and what they are predicted to take."""

import json

from tests.large import decoder
from tests.support import EndToEnd, model_file, program

SMALL = {"layers": 16, "hidden": 4096, "heads": 32, "kv_heads": 8, "inner": 14336, "vocabulary": 32000}
LARGE = {"layers": 40, "hidden": 8192, "heads": 64, "kv_heads": 8, "inner": 28672, "vocabulary": 32000}
REQUESTS = ["--dims", "batch=32,seq=1024,past=8192"]


class Plan(EndToEnd):
    def plan(self, model, topology, *flags, status=0):
        """What --json says, of any goal and requests."""
        file = self.folder / "plan.json"
        done = program("shardc", "plan", model, "--topology", topology, "--json", file, *flags)
        self.assertEqual(done.returncode, status, done.stderr)
        self.text = done.stdout
        return json.loads(file.read_text())

    @staticmethod
    def find(plan, **ways):
        """The candidate with these ways and no others."""
        mesh = {"dp": 1, "pp": 1, "cp": 1, "ep": 1, "tp": 1, "fsdp": 1, **ways}
        return next(candidate for candidate in plan["candidates"] if candidate["mesh"] == mesh)

    def test_a_model_that_fits_one_device_gets_one(self):
        model, parameters = decoder(self.folder, **SMALL)
        plan = self.plan(model, "h100:1x8", *REQUESTS)
        best = plan["candidates"][0]
        self.assertEqual(best["flags"], "--tp 1")
        self.assertEqual(best["memory"]["weights"], 2 * parameters)
        # 16 layers, keys and values, 32 requests of 8193 positions, 8 heads of 128 in two bytes.
        self.assertEqual(best["memory"]["kv"], 16 * 2 * 32 * 8193 * 8 * 128 * 2)
        self.assertEqual(best["memory"]["limit"], 80e9)
        self.assertTrue(best["fits"])
        self.assertEqual(plan["dims"], {"batch": 32, "past": 8192, "seq": 1024})
        self.assertIn("--tp 1", self.text.splitlines()[3])

    def test_parts_add_up_and_better_ones_come_first(self):
        model, _ = decoder(self.folder, **SMALL)
        plan = self.plan(model, "h100:2x8", *REQUESTS, "--goal", "latency")
        steps = []
        for candidate in plan["candidates"]:
            seconds, memory = candidate["seconds"], candidate["memory"]
            parts = sum(seconds[part] for part in ("compute", "read", "communication", "bubble"))
            self.assertAlmostEqual(parts, seconds["decode"], delta=1e-6 * seconds["decode"])
            self.assertAlmostEqual(memory["total"], sum(memory[k] for k in ("weights", "activations", "kv", "buffers")), delta=4)
            if candidate["fits"]:
                steps.append(seconds["decode"])
        self.assertLess(steps[0], 1.02 * min(steps))
        self.assertEqual(plan["candidates"][0]["mesh"]["tp"], 8)

    def test_weights_are_split_as_the_compiler_splits_them(self):
        model, _ = decoder(self.folder, **SMALL)
        plan = self.plan(model, "h100:2x8", *REQUESTS)
        for ways in ({"tp": 2}, {"tp": 3}, {"pp": 2}, {"tp": 8, "pp": 2}, {"cp": 2, "tp": 4}):
            if ways == {"tp": 3}:
                plan = self.plan(model, "h100:1x6", *REQUESTS)
            elif ways == {"pp": 2}:
                plan = self.plan(model, "h100:2x8", *REQUESTS)
            candidate = self.find(plan, **ways)
            report = self.folder / "explain.json"
            self.run_ok("shardc", model, *candidate["flags"].split(), "--explain-json", report)
            ranks = json.loads(report.read_text())["ranks"]
            self.assertEqual(candidate["memory"]["weights"], max(rank["weight_bytes"] for rank in ranks), ways)

    def test_bitwise_has_a_price_of_its_own(self):
        """Other collectives, no ring, a tied table twice: as the compiler has them with the flag."""
        model, _ = decoder(self.folder, **SMALL)
        requests = ["--dims", "batch=2,seq=4096,past=0", "--goal", "latency"]
        without, plan = (self.plan(model, "h100:1x8", *requests, *flag) for flag in ([], ["--bitwise"]))
        for candidate in plan["candidates"]:
            self.assertRegex(candidate["flags"], "^--bitwise ")
            self.assertEqual("--cp-mode" in candidate["flags"], candidate["mesh"]["cp"] > 1)
        for ways in ({"tp": 4}, {"tp": 2, "cp": 2}):
            self.assertGreater(self.find(plan, **ways)["seconds"]["communication"], self.find(without, **ways)["seconds"]["communication"])
        for name, ways in ((model, {"tp": 4}), (model, {"cp": 2, "tp": 2}), (model_file("gpt2-dynamo-op20"), {"tp": 2}), (model_file("gpt2-dynamo-op20"), {"tp": 4}),
                           (model, {"fsdp": 2})):
            with self.subTest(model=name, ways=ways):
                given = [text for axis, count in ways.items() for text in (f"--{axis}", count)]
                candidate = self.find(self.plan(name, "h100:1x8", "--bitwise", "--dims", "batch=2,seq=64", *given), **ways)
                report = self.folder / "explain.json"
                self.run_ok("shardc", name, *candidate["flags"].split(), "--explain-json", report)
                ranks = json.loads(report.read_text())["ranks"]
                self.assertEqual(candidate["memory"]["weights"], max(rank["weight_bytes"] for rank in ranks))
        done = program("shardc", model, "--bitwise", "--auto", "--topology", "h100:1x8", *requests, "--explain-json", self.folder / "out")
        self.assertIn(f"auto: {plan['candidates'][0]['flags'].removeprefix('--bitwise ')}: ", done.stderr)
        refused = program("shardc", "plan", model, "--topology", "h100:1x8", "--bitwise", "--cp", 2, "--cp-mode", "ring")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("use --cp-mode gather or ulysses", refused.stderr)

    def test_a_model_that_fits_a_node_is_split_inside_of_it(self):
        model, parameters = decoder(self.folder, **LARGE)
        self.assertGreater(2 * parameters, 60e9)
        plan = self.plan(model, "h100:16x8", *REQUESTS, "--goal", "latency")
        best = plan["candidates"][0]["mesh"]
        self.assertEqual((best["tp"], best["pp"], best["cp"]), (8, 1, 1))
        fewest = self.plan(model, "h100:16x8", *REQUESTS, "--goal", "fit")["candidates"][0]["mesh"]
        self.assertEqual(fewest["tp"] * fewest["pp"], 2)
        alone = self.find(plan)
        self.assertFalse(alone["fits"])
        self.assertRegex(alone["reason"], r"does not fit: [\d.]+ of 80\.0 GB a rank")

    def test_slow_links_are_avoided(self):
        model, _ = decoder(self.folder, **{**LARGE, "layers": 60})
        slow = self.folder / "slow.json"
        links = {"gigabytes_per_second": 1, "microseconds": 50}
        slow.write_text(json.dumps({"nodes": 8, "devices_per_node": 1, "preset": "h100", "between_nodes": links}))
        best = self.plan(model, slow, "--dims", "batch=32,seq=128,past=128", "--goal", "throughput")["candidates"][0]
        self.assertEqual(best["mesh"]["tp"], 1)
        self.assertGreater(best["mesh"]["pp"], 1)

    def test_says_what_would_fit(self):
        model, _ = decoder(self.folder, **LARGE)
        plan = self.plan(model, "l40s:1x2", *REQUESTS, status=1)
        self.assertRegex(plan["remedy"], r"^\d+ devices \(--tp \d+.*\); 8-bit weights \(--.+ 2.*\); a context of \d+ positions")
        self.assertIn("nothing fits: ", self.text)
        done = program("shardc", model, "--auto", "--topology", "l40s:1x2", *REQUESTS, "-o", self.folder / "out")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"error: --auto: nothing fits l40s:1x2: \d+ devices")
        self.assertFalse((self.folder / "out").exists())

    def test_kinds_of_requests_are_weighed(self):
        model, _ = decoder(self.folder, **SMALL)
        kinds = {"batch=32,seq=512,past=1024": 3, "batch=2,seq=4096,past=65536": 1}
        alone = [self.plan(model, "h100:1x8", "--dims", dims) for dims in kinds]
        mix = [text for dims, weight in kinds.items() for text in ("--mix", f"{weight}:{dims}")]
        both = self.plan(model, "h100:1x8", *mix)
        self.assertEqual([kind["weight"] for kind in both["mix"]], [3, 1])
        self.assertEqual(both["mix"][1]["dims"], {"batch": 2, "seq": 4096, "past": 65536})
        for ways in ({}, {"tp": 8}, {"tp": 4, "dp": 2}):
            short, long = (self.find(plan, **ways) for plan in alone)
            found = self.find(both, **ways)
            for part in ("prefill", "decode"):
                mean = (3 * short["seconds"][part] + long["seconds"][part]) / 4
                self.assertAlmostEqual(found["seconds"][part], mean, delta=1e-6 * mean)
            self.assertEqual(found["memory"]["total"], max(short["memory"]["total"], long["memory"]["total"]))
        done = program("shardc", model, "--auto", "--topology", "h100:1x8", *mix, "--explain-json", self.folder / "out")
        self.assertIn(f"auto: {both['candidates'][0]['flags']}: ", done.stderr)

    def test_auto_compiles_what_plan_puts_first(self):
        model, _ = decoder(self.folder, **LARGE)
        best = self.plan(model, "h100:1x8", *REQUESTS, "--goal", "latency")["candidates"][0]
        report = self.folder / "explain.json"
        flags = ["--auto", "--topology", "h100:1x8", *REQUESTS, "--goal", "latency", "--explain-json", report]
        done = program("shardc", model, *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"auto: {best['flags']}: the shortest step", done.stderr)
        self.assertEqual(json.loads(report.read_text())["mesh"], {"tp": 8})

    def test_auto_keeps_what_flags_give(self):
        """Beside --auto flags say what it is not to choose, as they do for `shardc plan`."""
        model, _ = decoder(self.folder, **SMALL)
        report = self.folder / "explain.json"
        for given, planned in (
            (["--tp", "2"], ["--tp", "2"]),
            (["--tp", "1", "--pp", "2"], ["--tp", "1", "--pp", "2"]),
            (["--cp", "2", "--cp-mode", "ulysses"], ["--cp", "2", "--cp-mode", "ulysses"]),
            (["--tp", "4", "--dp", "1", "--sp"], ["--tp", "4", "--dp", "1", "--sp", "on"]),
            (["--pp", "2", "--micro-batches", "4"], ["--pp", "2", "--micro-batches", "4"]),
            (["--tp", "2", "--pp", "2", "--rank-order", "pp,tp"], ["--tp", "2", "--pp", "2", "--rank-order", "pp,tp"]),
            (["--tp", "2", "--dp", "1", "--shares", "tp=3,1"], ["--tp", "2", "--dp", "1", "--shares", "tp=3,1"]),
        ):
            with self.subTest(given):
                best = self.plan(model, "h100:1x8", *REQUESTS, *planned)["candidates"][0]
                done = program("shardc", model, "--auto", "--topology", "h100:1x8", *REQUESTS, *given, "--explain-json", report)
                self.assertEqual(done.returncode, 0, done.stderr)
                chosen = best["flags"].split(" --topology ")[0]
                self.assertEqual(done.stderr.splitlines()[0], f"auto: {chosen}: {best['reason']}")
                for flag, value in zip(given, given[1:] + [""]):
                    if flag.startswith("--") and value != "1":
                        self.assertIn(f"{flag} {value}".strip() if not value.startswith("--") else flag, chosen)
                self.assertNotIn("warning", done.stderr)

    def test_another_order_of_ranks_leads(self):
        """Tokens go to their experts inside of a node, and sums of few rows go between the nodes."""
        model, _ = decoder(self.folder, **{**SMALL, "layers": 4, "experts": 8})
        slow = self.folder / "slow.json"
        links = {"gigabytes_per_second": 10, "microseconds": 50}
        slow.write_text(json.dumps({"nodes": 2, "devices_per_node": 4, "preset": "l40s", "between_nodes": links}))
        requests = ["--dims", "batch=64,seq=128,past=128", "--goal", "latency"]
        plan = self.plan(model, slow, *requests)
        best = plan["candidates"][0]
        self.assertEqual(best["flags"], "--tp 4 --ep 2 --ep-mode batch --rank-order ep,tp")
        self.assertEqual(best["rank_order"], ["ep", "tp"])
        report = self.folder / "explain.json"
        done = program("shardc", model, "--auto", "--topology", slow, *requests, "--explain-json", report)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"auto: {best['flags']}: ", done.stderr)
        chosen = json.loads(report.read_text())
        self.assertEqual(chosen["ranks"][1]["coords"], {"ep": 1, "tp": 0})
        nodes = {(entry["axis"], entry["nodes"]) for entry in chosen["collectives"] if entry["axis"] in ("ep", "tp")}
        self.assertEqual(nodes, {("ep", 1), ("tp", 2)})
        for candidate in plan["candidates"]:
            order = candidate["rank_order"]
            self.assertEqual(sorted(order), sorted(axis for axis, ways in candidate["mesh"].items() if ways > 1))
            if "--rank-order" in candidate["flags"]:
                self.run_ok("shardc", model, *candidate["flags"].split(), "--explain-json", report)
                coords = json.loads(report.read_text())["ranks"][1]["coords"]
                self.assertEqual({axis for axis, way in coords.items() if way}, {order[0]})

    def test_an_order_of_ranks_may_be_given(self):
        model, _ = decoder(self.folder, layers=2, hidden=256, heads=8, kv_heads=4, inner=512, vocabulary=1000)
        slow = self.folder / "slow.json"
        links = {"gigabytes_per_second": 10, "microseconds": 50}
        slow.write_text(json.dumps({"nodes": 2, "devices_per_node": 4, "preset": "l40s", "between_nodes": links}))
        requests = ["--dims", "batch=64,seq=128,past=128", "--goal", "latency"]
        free = self.plan(model, slow, *requests)["candidates"]
        for given in ("cp,tp", "pp,dp,tp", "dp"):
            named = given.split(",")
            candidates = self.plan(model, slow, *requests, "--rank-order", given)["candidates"]
            self.assertEqual({json.dumps(c["mesh"]) for c in candidates}, {json.dumps(c["mesh"]) for c in free})
            for candidate in candidates:
                order = candidate["rank_order"]
                others = [axis for axis in ("tp", "ep", "cp", "fsdp", "pp", "dp") if axis not in named]
                self.assertEqual(order, [axis for axis in named + others if candidate["mesh"].get(axis, 1) > 1])
        # Sums that go between the nodes then take longer.
        outside = self.plan(model, slow, *requests, "--rank-order", "dp,tp")["candidates"]
        ways = {"tp": 4, "dp": 2}
        seconds = [next(c["seconds"]["decode"] for c in found if ways.items() <= c["mesh"].items()) for found in (outside, free)]
        self.assertGreater(seconds[0], 1.1 * seconds[1])

    def test_a_model_without_caches_has_prompts_alone(self):
        plan = self.plan(model_file("bert-ts-op17"), "h100:1x2", "--dims", "batch=8,seq=128", "--goal", "latency")
        best = plan["candidates"][0]
        self.assertIsNone(best["seconds"]["decode"])
        self.assertGreater(best["seconds"]["prefill"], 0)
        self.assertEqual(best["memory"]["kv"], 0)

    def test_mistakes(self):
        model = model_file("bert-ts-op17")
        for flags, words in (
            (["plan", model], "--topology is required"),
            (["plan", model, "--topology", "h100"], "expected h100:NODESxDEVICES"),
            (["plan", model, "--topology", "h100:1x2", "--goal", "speed"], "--goal"),
            (["plan", model, "--topology", "h100:1x2", "--mix", "batch=3"], "expected WEIGHT:DIMS"),
            (["plan", model, "--topology", "h100:1x2", "--mix", "0:batch=3"], "expected WEIGHT:DIMS"),
            (["plan", model, "--topology", "h100:1x2", "--mix", "1:past=3"], "--mix past: the model has no such size"),
            (["plan", model, "--topology", "h100:1x2", "--mix", "1:batch=3", "--dims", "seq=2"], "leave one of them out"),
            (["plan", model, "--topology", "h100:1x2", "--dims", "past=3"], "--dims past: the model has no such size"),
            (["plan", model, "--topology", "h100:1x2", "--rank-order", "tp,ring"], 'there is no axis "ring"; expected each axis once'),
            (["plan", model, "--topology", "h100:1x2", "--rank-order", "tp,pp,tp"], '"tp" comes twice'),
            ([model, "--auto", "--explain"], "--auto: needs --topology"),
            ([model, "--auto", "--topology", "h100:1x2", "--ep-mode", "batch", "--explain"], "--ep-mode: --auto chooses it"),
            ([model, "--auto", "--topology", "h100:1x2", "--tp", "4", "--explain"], "--tp 4"),
            ([model, "--auto", "--topology", "h100:1x2", "--rank-order", "tp,ring", "--explain"], 'there is no axis "ring"'),
        ):
            done = program("shardc", *flags)
            self.assertEqual(done.returncode, 2, flags)
            self.assertIn(words, done.stderr)
