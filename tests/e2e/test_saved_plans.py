"""A plan is a value: saved, loaded, edited, pinned. Whatever it says, the numbers stay those of one rank."""

import json
import random

import onnx

from tests.e2e.caches import decoder
from tests.support import EndToEnd, model_file, program

PLANS = (
    ("llama-dynamo-op18", ["--tp", "2"]),
    ("llama-dynamo-op18", ["--tp", "3", "--pp", "2", "--sp"]),
    ("bert-ts-op17", ["--cp", "2", "--tp", "2", "--cp-mode", "ulysses"]),
    ("gpt2-dynamo-op20", ["--dp", "2", "--tp", "2", "--rank-order", "tp,dp"]),
)


class SavedPlans(EndToEnd):
    def partitioned(self, model, *flags):
        return self.run_ok("shardc", model, *flags, "--to", "partitioned")

    def save(self, model, *flags):
        file = self.folder / "plan.json"
        return file, self.partitioned(model, *flags, "--save-plan", file)

    def test_a_loaded_plan_is_the_same_one(self):
        for name, flags in PLANS:
            with self.subTest(name=name, flags=flags):
                file, searched = self.save(model_file(name), *flags)
                self.assertEqual(self.partitioned(model_file(name), "--load-plan", file), searched)

    def test_profiles_have_plans_of_their_own(self):
        onnx.save(decoder(), self.folder / "decoder.onnx")
        file, searched = self.save(self.folder / "decoder.onnx", "--tp", 2, "--sp")
        self.assertEqual(sorted(json.loads(file.read_text())["programs"]), ["main_decode", "main_prefill"])
        self.assertEqual(self.partitioned(self.folder / "decoder.onnx", "--load-plan", file), searched)

    def test_an_artifact_keeps_its_plan(self):
        model = model_file("bert-ts-op17")
        artifact = self.compile(model, 2, "--sp")
        self.assertEqual(self.partitioned(model, "--load-plan", artifact), self.partitioned(model, "--tp", 2, "--sp"))

    def test_plans_with_ops_left_out_compute_the_same(self):
        """Any of them: shardings that do not meet are changed on the way, and it is proved that nothing is lost."""
        model = model_file("llama-dynamo-op18")
        file, _ = self.save(model, "--tp", 2, "--sp")
        plan = json.loads(file.read_text())
        for seed in range(4):
            draw = random.Random(seed)
            edited = json.loads(json.dumps(plan))
            for name, ops in edited["programs"].items():
                edited["programs"][name] = [op for op in ops if draw.random() < 0.8]
            file.write_text(json.dumps(edited))
            said = self.run_ok("shardc", "verify", model, "--load-plan", file, "--dims", "batch=2,sequence=7", "--seed", seed)
            self.assertIn("computes what one rank computes", said)

    def test_any_parts_of_an_axis_compute_the_same_or_are_refused(self):
        """Of 12 ways: also those that have no even share of each other, as the first 4 and the last 2."""
        model = model_file("llama-dynamo-op18")
        file, _ = self.save(model, "--tp", 12)
        plan = json.loads(file.read_text())
        parts = [f"tp:({pre}){size}" for pre in range(1, 12) for size in range(2, 13) if 12 % (pre * size) == 0]
        numbers = {"computed": 0, "refused": 0}
        for seed in range(12):
            draw = random.Random(seed)
            edited = json.loads(json.dumps(plan))
            for op in edited["programs"]["main"]:
                splits = op.get("splits", [])
                if len(splits) == 1 and draw.random() < 0.3:
                    splits[0]["axes"] = [draw.choice(parts)]
                if draw.random() < 0.02 and len(splits) == 1 and op["op"] == "Weight":
                    other = {key: splits[0][key] for key in ("of", "factor")}
                    splits.append({**other, "dim": 1 - splits[0]["dim"], "axes": [draw.choice(parts)]})
            file.write_text(json.dumps(edited))
            done = program("shardc", "verify", model, "--load-plan", file, "--dims", "batch=2,sequence=7", "--seed", seed)
            if done.returncode == 0:
                self.assertIn("computes what one rank computes", done.stdout)
                numbers["computed"] += 1
                continue
            self.assertEqual((done.returncode, done.stderr.count("error: ")), (2, 1), done.stdout + done.stderr)
            self.assertIn("splits it twice", done.stderr)
            numbers["refused"] += 1
        self.assertGreater(min(numbers.values()), 0, numbers)

    def test_parts_of_an_axis_that_are_no_grid(self):
        """4 key heads over the first 4 of 12 ways, each of 3 ranks; their groups of 2 over every other rank."""
        model = model_file("llama-dynamo-op18")
        file, _ = self.save(model, "--tp", 12)
        file.write_text(file.read_text().replace('"tp:(4)3"', '"tp:(6)2"'))
        done = program("shardc", "verify", model, "--load-plan", file, "--dims", "batch=2,sequence=7")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("an axis splits it twice", done.stderr)

    def test_what_is_held_in_pieces_is_cut_further(self):
        """Keys of 4 heads of 16: each rank makes 8 of each head, and keeps those of 2 heads."""
        model = model_file("llama-dynamo-op18")
        file, _ = self.save(model, "--tp", 4)
        plan = json.loads(file.read_text())
        ops = {op["node"]: op for op in plan["programs"]["main"]}

        def over(axes, of, dim, factor):
            return {"of": of, "dim": dim, "factor": factor, "axes": [axes]}

        ops["val_83"]["splits"] = [over("tp:(2)2", "result 0", 1, 1)]
        ops["node_linear_1"]["splits"] = [over("tp:(2)2", "operand 1", 1, 1)]
        ops["node_view_1"]["splits"] = [over("tp:(1)2", "operand 0", 2, 0), over("tp:(2)2", "operand 0", 2, 1)]
        file.write_text(json.dumps(plan))
        cut = [line for line in self.partitioned(model, "--load-plan", file).splitlines() if "dist.slice" in line]
        self.assertTrue(any('(4, 16:"tp":(2)2)' in line and '(4:"tp"=2, 16:"tp":(2)2)' in line for line in cut), cut)
        said = self.run_ok("shardc", "verify", model, "--load-plan", file, "--dims", "batch=2,sequence=7")
        self.assertIn("computes what one rank computes", said)

    def test_pins_hold_and_the_rest_is_searched(self):
        model = model_file("llama-dynamo-op18")
        linear = {op["node"]: op for op in self.ops_of(model, "--tp", 2) if op["node"].startswith("node_linear")}
        self.assertIn("node_linear_9", linear)
        pinned = {op["node"] for op in self.ops_of(model, "--tp", 2, "--pin", "node_linear_9=[{}, {}, {}]")}
        self.assertNotIn("node_linear_9", pinned)
        self.assertIn("node_linear_2", pinned)
        rows = self.ops_of(model, "--tp", 2, "--pin", 'node_linear_3=[{}, {}, {"tp"=2}]')
        split = next(op for op in rows if op["node"] == "node_linear_3")["splits"]
        self.assertEqual([(s["of"], s["dim"], s["axes"]) for s in split], [("operand 1", 1, ["tp"])])
        for pin in ("node_linear_9=[{}, {}, {}]", "node_linear_3=[{}, {}, {tp}]", "node_linear_9=[{}, {tp}, {}]"):
            said = self.run_ok("shardc", "verify", model, "--tp", 2, "--pin", pin, "--dims", "batch=2,sequence=7")
            self.assertIn("computes what one rank computes", said)

    def ops_of(self, model, *flags):
        file, _ = self.save(model, *flags)
        return json.loads(file.read_text())["programs"]["main"]

    def test_mistakes(self):
        model = model_file("llama-dynamo-op18")
        file, _ = self.save(model, "--tp", 2)
        plan = json.loads(file.read_text())

        def edited(change):
            copy = json.loads(json.dumps(plan))
            change(copy)
            path = self.folder / f"edited{len(list(self.folder.iterdir()))}.json"
            path.write_text(json.dumps(copy))
            return ["--load-plan", path]

        def first_split(copy):
            return copy["programs"]["main"][0]["splits"][0]

        cases = (
            (["--load-plan", self.folder / "none.json"], "cannot be read"),
            (["--load-plan", self.folder], "cannot be read"),
            (["--load-plan", file, "--tp", 2], "--tp: --load-plan has it"),
            (edited(lambda p: p.update(format="shardc plan 0")), "is no plan of this version"),
            (edited(lambda p: p.update(mesh=[])), '"mesh" has no axes'),
            (edited(lambda p: p.update(cp_mode="star")), '"cp_mode" is "star", expected ring, ulysses or gather'),
            (edited(lambda p: p.update(ep_mode="auto")), '"ep_mode" is "auto", expected tensor or batch'),
            (edited(lambda p: p.update(mesh=[{"name": "tp", "size": 2}] * 2)), "an axis twice"),
            (edited(lambda p: p["programs"]["main"][0].update(in_turn=["tp"])), '"in_turn" is for an attention'),
            (edited(lambda p: first_split(p).update(axes=["tp", "tp"])), '"axes" has an axis twice'),
            (edited(lambda p: first_split(p).update(zig_zag="x")), '"zig_zag" is no truth value'),
            (edited(lambda p: p.update(mesh=[{"name": "ep", "size": 2}])), 'there is no axis "tp"'),
            (edited(lambda p: p["programs"].clear()), "has nothing of @main"),
            (edited(lambda p: p["programs"]["main"][0].update(node="embed_token")), "the nearest one is"),
            (edited(lambda p: first_split(p).update(dim=7)), "it has no dim 7 of result 0"),
            (edited(lambda p: first_split(p).update(size="77")), "the plan is one of another model"),
            (edited(lambda p: first_split(p).update(axes=["tp:(3)5"])), 'is no part of "tp" = 2'),
            (["--tp", 2, "--pin", "node_linear_9"], "expected NODE=SHARDING"),
            (["--tp", 2, "--pin", "node_linear_9=[{}, {}]"], "the value has 3 dims, not 2"),
            (["--tp", 2, "--pin", "node_liner_9=[{}, {}, {}]"], "the nearest one is node_linear_9"),
            (["--tp", 2, "--pin", "node_linear_9=[{}, {}, {pp}]"], 'there is no axis "pp"'),
        )
        for flags, words in cases:
            with self.subTest(words=words):
                done = program("shardc", model, *flags, "-o", self.folder / "out")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
                self.assertFalse((self.folder / "out").exists())
