"""`shardc plan --serve` and `--auto --serve` price the step of rows that `shardc --serve` makes, parts of keys included."""

import json

from tests.large import decoder
from tests.support import EndToEnd, program

MODEL = {"layers": 16, "hidden": 4096, "heads": 32, "kv_heads": 8, "inner": 14336, "vocabulary": 32000}
KV = 16 * 2 * 8 * 128  # elements of a position
STEP = "batch=32,past=8192"  # one token each: 8193 positions, 129 pages of 64


class ServedPlan(EndToEnd):
    def setUp(self):
        super().setUp()
        self.model, _ = decoder(self.folder, **MODEL)

    def plan(self, *flags, topology="h100:2x8", dims=f"{STEP},seq=1024", status=0):
        file = self.folder / "plan.json"
        done = program("shardc", "plan", self.model, "--topology", topology, "--dims", dims, "--json", file, *flags)
        self.assertEqual(done.returncode, status, done.stderr)
        self.text = done.stdout
        return json.loads(file.read_text())

    @staticmethod
    def find(plan, **ways):
        mesh = {"dp": 1, "pp": 1, "cp": 1, "ep": 1, "tp": 1, "fsdp": 1, **ways}
        return next(candidate for candidate in plan["candidates"] if candidate["mesh"] == mesh)

    def compiled(self, *flags):
        """What an artifact with these flags is said to hold and send, of its fullest rank."""
        file = self.folder / "explained.json"
        self.run_ok("shardc", self.model, "--topology", "h100:2x8", "--target", "cuda", "--overlap", "off", "--dims", STEP,
                    "--explain-json", file, *flags)  # fmt: skip
        report = json.loads(file.read_text())
        rank = max(report["ranks"], key=lambda each: each["kv_bytes"] + each["weight_bytes"])
        return rank, sum(collective["seconds"] for collective in report["collectives"])

    def test_prices_are_those_of_what_is_compiled(self):
        """Of 16 ranks on 8 key heads, of ranks of a context, and of caches in 8 bits."""
        for ways, flags in (({"tp": 4}, []), ({"tp": 16}, []), ({"cp": 2, "tp": 8}, []), ({"cp": 4, "tp": 2}, []),
                            ({"tp": 16}, ["--kv-type", "int8"]), ({"tp": 16}, ["--serve=16"])):  # fmt: skip
            degrees = [word for axis, number in ways.items() for word in (f"--{axis}", number)]
            rows = flags if "--serve=16" in flags else ["--serve", *flags]
            with self.subTest(ways=ways, rows=rows):
                found = self.find(self.plan(*rows, *degrees, "--sp", "off", "--overlap", "off"), **ways)
                rank, seconds = self.compiled(*rows, *degrees)
                self.assertEqual(found["memory"]["weights"], rank["weight_bytes"])
                self.assertEqual(found["memory"]["kv"], rank["kv_bytes"])
                self.assertAlmostEqual(found["seconds"]["communication"], seconds, delta=1e-3 * seconds)
                self.assertTrue(found["flags"].startswith(" ".join(rows)), found["flags"])

    def test_stages_are_those_that_are_compiled(self):
        """With --plan-dims, which the flags have: cuts are chosen for the step as a whole, not for a server's parts."""
        found = self.plan("--serve", "--tp", 8, "--pp", 2)["candidates"][0]
        self.assertEqual(found["mesh"], {"dp": 1, "pp": 2, "cp": 1, "ep": 1, "tp": 8, "fsdp": 1})
        rank, _ = self.compiled(*found["flags"].replace("--topology h100:2x8", "").split())
        self.assertEqual(found["memory"]["kv"], rank["kv_bytes"])
        # Where two cuts are as good, one or the other: within a product.
        self.assertAlmostEqual(found["memory"]["weights"], rank["weight_bytes"], delta=0.01 * rank["weight_bytes"])

    def test_no_rank_holds_copies_of_keys(self):
        pages = 32 * 129 * 64
        plan = self.plan("--serve", "--sp", "off")
        self.assertEqual(plan["serve"], {"page": 64, "kv_type": ""})
        for ways in ({"tp": 16}, {"cp": 2, "tp": 8}, {"cp": 16}, {"tp": 1}):
            found = self.find(plan, **ways)
            ranks = found["mesh"]["cp"] * found["mesh"]["tp"]
            self.assertEqual(found["memory"]["kv"], pages * KV * 2 // ranks)
        self.assertTrue(all(candidate["mesh"]["fsdp"] == 1 for candidate in plan["candidates"]))
        requests = self.plan("--sp", "off")
        self.assertEqual(self.find(requests, tp=16)["memory"]["kv"], 32 * 8193 * KV * 2 // 8)
        for ways, copies in (({"tp": 16}, 2), ({"cp": 2, "tp": 8}, 2), ({"cp": 16}, 16), ({"cp": 4, "pp": 2, "dp": 2}, 4)):
            self.assertIn(f"; each key is on {copies} ranks, with --serve on one", self.find(requests, **ways)["reason"])
        for found in (*plan["candidates"], self.find(requests, tp=8, dp=2), self.find(requests, tp=8, pp=2), self.find(requests, dp=8)):
            self.assertNotIn("each key is on", found["reason"])

    def test_replicas_and_stages_share_out_the_rows(self):
        plan = self.plan("--serve", "--sp", "off", "--goal", "throughput")
        one, two = self.find(plan, tp=4), self.find(plan, tp=4, dp=2)
        self.assertEqual(two["memory"]["kv"] * 2, one["memory"]["kv"])
        self.assertLess(two["seconds"]["decode"], one["seconds"]["decode"])
        # 32 tokens are two parts of 16, which read the weights of each of two stages: three times the longer stage.
        stages = self.find(plan, tp=4, pp=2)
        self.assertGreater(stages["seconds"]["bubble"], 0.3 * stages["seconds"]["decode"])
        self.assertLess(stages["memory"]["weights"], one["memory"]["weights"])

    def test_auto_takes_the_best_step_of_rows(self):
        best = self.plan("--serve", "--goal", "latency", topology="h100:1x16")["candidates"][0]
        file = self.folder / "saved.json"
        done = program("shardc", self.model, "--auto", "--serve", "--goal", "latency", "--topology", "h100:1x16",
                       "--dims", f"{STEP},seq=1024", "--save-plan", file, "--to", "staged")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        saved = json.loads(file.read_text())
        self.assertEqual({axis["name"]: axis["size"] for axis in saved["mesh"] if axis["size"] > 1},
                         {axis: ways for axis, ways in best["mesh"].items() if ways > 1})  # fmt: skip
        # The step that it is for has one token a row.
        self.assertEqual(saved["plan_dims"]["tokens of a step"], 32)
        self.assertEqual(saved["page"], 64)

    def test_a_shorter_context_is_one_that_fits(self):
        plan = self.plan("--serve", topology="l40s:1x1", dims="batch=64,seq=1024,past=65536", status=1)
        self.assertIn("a context of", plan["remedy"])
        positions = int(plan["remedy"].split("a context of ")[1].split()[0])
        shorter = f"batch=64,seq={1024 * positions // 65536},past={positions}"  # prompts are, too
        fits = self.plan("--serve", topology="l40s:1x1", dims=shorter)
        self.assertTrue(fits["candidates"][0]["fits"])

    def test_what_cannot_be_planned_is_one_error(self):
        for flags, dims, said in ((["--dp", 8], "batch=2,seq=4", "a batch of 2 has no 8 parts; give fewer ways, or other --dims"),
                                  (["--serve", "--dp", 8], "batch=2,seq=4", "a batch of 2 has no 8 parts; give fewer ways"),
                                  ([], "batch=0,seq=4", "--dims batch=0: expected at least 1"),
                                  (["--serve"], "batch=2,seq=0", "--dims seq=0: expected at least 1"),
                                  (["--pp", 512, "--topology", "h100:64x8"], "batch=2", "the model can be cut into at most"),
                                  (["--serve", "--pp", 2, "--micro-batches", 2], "batch=2", "--serve excludes --micro-batches"),
                                  (["--topology", "h100:99999x8"], "batch=2", "has 799992 devices, expected at most 65536")):  # fmt: skip
            with self.subTest(flags=flags, dims=dims):
                topology = [] if "--topology" in flags else ["--topology", "h100:1x8"]
                done = program("shardc", "plan", self.model, *topology, "--dims", dims, *flags)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, "^error: .*" + said)
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_training_has_no_rows(self):
        done = program("shardc", "plan", self.model, "--topology", "h100:1x8", "--training", "--serve", "--dims", "batch=8,seq=1024")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--serve excludes --training", done.stderr)
