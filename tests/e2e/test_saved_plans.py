"""A plan is a value: saved, loaded, edited, pinned. Whatever it says, the numbers stay those of one rank."""

import itertools
import json
import random
import re

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.e2e.caches import decoder
from tests.support import EndToEnd, model_file, program

PLANS = (
    ("llama-dynamo-op18", ["--tp", "2"]),
    ("llama-dynamo-op18", ["--tp", "3", "--pp", "2", "--sp"]),
    ("bert-ts-op17", ["--cp", "2", "--tp", "2", "--cp-mode", "ulysses"]),
    ("gpt2-dynamo-op20", ["--dp", "2", "--tp", "2", "--rank-order", "tp,dp"]),
)


def multiplied(weights, name, x, numbers, generator):
    """A product, with its weight."""
    weights.append(numpy_helper.from_array(generator.standard_normal(numbers, np.float32) / numbers[0], f"{name}.weight"))
    return helper.make_node("MatMul", [x, f"{name}.weight"], [name], name)


def model_of(nodes, weights, shapes, result):
    inputs = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def rows_of_two_inputs():
    """Eight layers on rows of x, of whose mean eight layers on rows of y go on."""
    generator, nodes, weights, value = np.random.default_rng(1), [], [], "x"
    for layer in range(16):
        if layer == 8:
            nodes += [helper.make_node("ReduceMean", [value], ["mean"], "mean", axes=[0]), helper.make_node("Add", ["y", "mean"], ["sum"], "sum")]
            value = "sum"
        nodes.append(multiplied(weights, f"layer{layer}", value, (256, 256), generator))
        nodes.append(helper.make_node("Relu", [f"layer{layer}"], [f"relu{layer}"], f"relu{layer}"))
        value = f"relu{layer}"
    return model_of(nodes, weights, {"x": ["a", 256], "y": ["b", 256]}, value)


def perceptron():
    generator = np.random.default_rng(2)
    weights = [numpy_helper.from_array(generator.standard_normal(shape, np.float32), name) for name, shape in (("w1", (8, 32)), ("w2", (32, 8)))]
    nodes = [helper.make_node(*node) for node in (("MatMul", ["x", "w1"], ["up"], "up"), ("Relu", ["up"], ["act"], "act"), ("MatMul", ["act", "w2"], ["down"], "down"))]
    return model_of(nodes, weights, {"x": [4, 6, 8]}, "down")


def shardings_of(text, node):
    """Of the first result of a node, and of all copies of a weight, in phase sharded; sums of parts are of none."""
    names = dict(re.findall(r'^(#loc\d+) = loc\("(.*)"\)$', text, re.M))
    lines = [line for line in text.splitlines() if line.startswith("    %") and "dist.reshard" not in line]
    own = [line for line in lines if names.get(line.rsplit("loc(")[-1].rstrip(")")) == node]
    return {line.rsplit("sharding = ")[-1].split("]")[0] + "]" for line in own}


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

    def test_stages_are_cut_where_the_plan_says(self):
        """Cuts that a machine and a request's sizes decided hold without them, of a plan file and of an artifact."""
        model = self.folder / "rows.onnx"
        onnx.save(rows_of_two_inputs(), model)
        flags = ["--pp", 2, "--tp", 2]
        file, plain = self.save(model, *flags)
        self.assertEqual(json.loads(file.read_text())["cuts"], {"main": [{"node": "layer8", "op": "MatMul"}]})
        sized = [*flags, "--topology", "h100:1x4", "--plan-dims", "a=1,b=65536"]
        file, searched = self.save(model, *sized)
        self.assertIn(json.loads(file.read_text())["cuts"]["main"][0]["node"], {"layer11", "layer12", "layer13"})
        self.assertNotEqual(searched, plain)
        self.assertEqual(self.partitioned(model, "--load-plan", file), searched)
        self.run_ok("shardc", model, *sized, "-o", self.folder / "rows.shard")
        self.assertEqual(self.partitioned(model, "--load-plan", self.folder / "rows.shard"), searched)

    def test_choices_behind_a_plan_are_for_the_machine_it_was_made_for(self):
        """Transfers in parts pay between nodes, not inside of one; a plan that is loaded for another machine keeps them."""
        model = model_file("llama-dynamo-op18")
        flags = ["--pp", 2, "--tp", 2, "--plan-dims", "batch=8,seq=4096"]
        inside = self.partitioned(model, *flags, "--topology", "h100:1x4")
        file, between = self.save(model, *flags, "--topology", "h100:2x2")
        self.assertNotEqual(between, inside)
        plan = json.loads(file.read_text())
        self.assertEqual((plan["machine"]["nodes"], plan["plan_dims"], plan["overlap"]), (2, {"batch": 8, "sequence": 4096}, "auto"))
        for machine in ([], ["--topology", "h100:1x4"], ["--topology", "l40s:1x4"]):
            self.assertEqual(self.partitioned(model, "--load-plan", file, *machine), between)
        self.run_ok("shardc", model, *flags, "--topology", "h100:2x2", "-o", self.folder / "kept.shard")
        self.assertEqual(self.partitioned(model, "--load-plan", self.folder / "kept.shard", "--topology", "h100:1x4"), between)
        del plan["machine"]
        file.write_text(json.dumps(plan))
        self.assertEqual(self.partitioned(model, "--load-plan", file, "--topology", "h100:1x4"), inside)

    def test_any_cut_computes_the_same(self):
        model = model_file("llama-dynamo-op18")
        file, _ = self.save(model, "--pp", 2, "--tp", 2)
        plan = json.loads(file.read_text())
        products = [op for op in plan["programs"]["main"] if op["node"].startswith("node_linear")]
        for product in products:
            plan["cuts"] = {"main": [{"node": product["node"], "op": product["op"]}]}
            file.write_text(json.dumps(plan))
            with self.subTest(product["node"]):
                said = self.run_ok("shardc", "verify", model, "--load-plan", file, "--dims", "batch=2,sequence=7")
                self.assertIn("computes what one rank computes", said)

    def test_profiles_are_cut_alike(self):
        model = self.folder / "decoder.onnx"
        onnx.save(decoder(), model)
        file, searched = self.save(model, "--pp", 2, "--tp", 2, "--sp")
        plan = json.loads(file.read_text())
        self.assertEqual(sorted(plan["cuts"]), ["main_decode", "main_prefill"])
        first = plan["cuts"]["main_prefill"]
        del plan["cuts"]["main_decode"]
        file.write_text(json.dumps(plan))
        self.assertEqual(self.partitioned(model, "--load-plan", file), searched, "one profile's cuts are those of all")
        other = next(op for op in plan["programs"]["main_decode"] if op["op"] == "MatMul" and op["node"] != first[0]["node"])
        plan["cuts"]["main_decode"] = [{"node": other["node"], "op": other["op"]}]
        file.write_text(json.dumps(plan))
        done = program("shardc", model, "--load-plan", file, "--to", "staged")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("are not those of the profiles before it", done.stderr)

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

    def test_pins_that_contradict_each_other(self):
        """In any order; neither is dropped in silence."""
        model = self.folder / "mlp.onnx"
        onnx.save(perceptron(), model)
        cases = (
            ("w1=[{}, {tp}]", "w1=[{tp}, {}]"),
            ("w1=[{}, {tp}]", "w1=[{}, {}]"),
            ("up=[{}, {}, {tp}]", "up=[{}, {tp}, {}]"),
            ("up=[{tp}, {}, {}]", "up=[{}, {}, {}]"),
        )
        for pins in cases:
            for first, second in (pins, pins[::-1]):
                with self.subTest(first=first, second=second):
                    done = program("shardc", model, "--tp", 2, "--pin", first, "--pin", second, "--save-plan", self.folder / "p.json")
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(f"--pin {second}: contradicts {first}", done.stderr)
                    self.assertFalse((self.folder / "p.json").exists())
        for pin in ("up=[{tp}, {tp}, {}]", "up=[{tp, tp}, {}, {}]"):
            done = program("shardc", model, "--tp", 2, "--pin", pin, "--to", "sharded")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("splits the value twice", done.stderr)

    def test_pins_are_kept_together_or_refused(self):
        """Any two of them: what is compiled has both."""
        model = self.folder / "mlp.onnx"
        onnx.save(perceptron(), model)
        weights = [f"{w}={to}" for w in ("w1", "w2") for to in ("[{}, {}]", "[{tp}, {}]", "[{}, {tp}]")]
        values = [f"{v}={to}" for v in ("up", "act", "down") for to in ("[{}, {}, {}]", "[{tp}, {}, {}]", "[{}, {tp}, {}]", "[{}, {}, {tp}]")]
        kept = 0
        for first, second in itertools.combinations(weights + values, 2):
            if first.split("=")[0] == second.split("=")[0] or random.Random(first + second).random() < 0.7:
                continue
            done, other = (program("shardc", model, "--tp", 2, "--pin", a, "--pin", b, "--to", "sharded")
                           for a, b in ((first, second), (second, first)))  # fmt: skip
            self.assertEqual(done.returncode, other.returncode, f"{first} {second}: their order says nothing")
            if done.returncode:
                self.assertEqual((done.returncode, done.stderr.count("error: ")), (2, 1), done.stderr)
                continue
            kept += 1
            for pin in (first, second):
                node, to = pin.split("=")
                self.assertEqual(shardings_of(done.stdout, node), {to.replace("tp", '"tp"=2')}, f"{first} {second}")
        self.assertGreater(kept, 20)

    def test_a_pin_of_a_weight_that_ranks_share_out(self):
        model = self.folder / "decoder.onnx"
        onnx.save(decoder(), model)
        halves_of_heads = '[{}, (4:"fsdp"=2, 8)]'  # the same elements as half of the columns
        for to, held in (("[{fsdp}, {}]", '[{"fsdp"=2}, {}]'), ("[{}, {fsdp}]", halves_of_heads), ("[{}, {}]", "[{}, {}]")):
            said = self.run_ok("shardc", model, "--fsdp", 2, "--tp", 2, "--pin", f"l0.q={to}", "--to", "sharded")
            self.assertEqual(shardings_of(said, "l0.q"), {held})

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
            (edited(lambda p: p["programs"].update(main_7=[])), "has @main_7, which the model has not"),
            (edited(lambda p: p.update(microbatches=2)), 'has "microbatches", which no plan has; the nearest key is "micro_batches"'),
            (edited(lambda p: p.update(sp="yes")), '"sp" is no truth value'),
            (edited(lambda p: p.update(micro_batches=0)), '"micro_batches" is 0, expected 1 to'),
            (edited(lambda p: p["mesh"][0].update(share=[1, 1])), 'an axis of "mesh" has "share"'),
            (edited(lambda p: p["programs"]["main"][0].update(split=[])), 'has "split", which no plan has; the nearest key is "splits"'),
            (edited(lambda p: p["programs"]["main"][0].update(index="7")), '"index" is no number from 0 on'),
            (edited(lambda p: p["programs"]["main"][0].update(index=-7)), '"index" is no number from 0 on'),
            (edited(lambda p: p["programs"]["main"][0].pop("op")), 'has no "op"'),
            (edited(lambda p: first_split(p).update(factor=1.5)), 'a split "factor" is no number from 0 on'),
            (edited(lambda p: first_split(p).pop("dim")), 'a split has no "dim"'),
            (edited(lambda p: first_split(p).pop("axes")), 'a split has no "axes"'),
            (edited(lambda p: p.update(cuts={"main": [{"node": "x", "op": "MatMul"}]})), '"cuts" of @main has 1 cuts, and "mesh" no "pp"'),
            (edited(lambda p: p.update(stages={"x": 1})), '"stages": x: is in stage 1, expected one of 0 to 0'),
            (edited(lambda p: p["mesh"].insert(0, {"name": "pp", "size": 99})), '"mesh" has "pp" = 99: the model can be cut into at most'),
            (edited(lambda p: p["programs"]["main"][0].update(node="embed_token")), "the nearest one is"),
            (edited(lambda p: first_split(p).update(dim=7)), "it has no dim 7 of result 0"),
            (edited(lambda p: first_split(p).update(size="77")), "the plan is one of another model"),
            (edited(lambda p: first_split(p).update(axes=["tp:(3)5"])), 'is no part of "tp" = 2'),
            (edited(lambda p: p.update(machine={"nodes": 0})), '"machine": '),
            (edited(lambda p: p.update(machine={"nodes": 1, "devices_per_node": 1, "preset": "h100"})), '"machine" has 1 devices, "mesh" 2 ranks'),
            (edited(lambda p: p.update(plan_dims={"batch": -1})), '"plan_dims": batch is -1, expected a size'),
            (edited(lambda p: p.update(plan_dims={"rows": 1})), "--plan-dims rows: the model has no such size"),
            ([*edited(lambda p: p.update(plan_dims={"batch": 1})), "--plan-dims", "batch=2"], 'has "plan_dims"; leave --plan-dims out'),
            (edited(lambda p: p.update(overlap="often")), '"overlap" is "often", expected auto, off or a number from 1 to 99'),
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
