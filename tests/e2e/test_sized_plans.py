"""Plans for requests of known sizes: splits of weights are chosen by predicted time, and the numbers stay the same."""

import json
import shlex

import onnx

from tests.e2e.caches import decoder
from tests.support import EndToEnd, data_sets, model_file

# Links between nodes are slow here, so that other splits than the usual ones are worth it.
TOPOLOGY = ["--topology", "l40s:2x6"]
CHOSEN = "splits of weights were chosen for these sizes: "


class SizedPlans(EndToEnd):
    def choice(self, model, *flags):
        """What is said of the splits; None where those without sizes are as fast."""
        return next((c for c in self.explain(model, *flags).get("choices", []) if c.startswith(CHOSEN)), None)

    def test_models_compute_the_same(self):
        for name in ("gpt2-dynamo-op20", "llama-dynamo-op18", "bert-ts-op17"):
            model, flags = model_file(name), [*TOPOLOGY, "--plan-dims", "batch=64,sequence=2048"]
            with self.subTest(name=name):
                share = float(self.choice(model, 12, *flags).removeprefix(CHOSEN).split()[0])
                self.assertLess(share, 0.99)
                artifact = self.compile(model, 12, *flags)
                for data_set in data_sets(name):
                    self.execute(artifact, data_set)

    def test_prompts_and_steps_hold_the_same_caches(self):
        onnx.save(decoder(), self.folder / "decoder.onnx")
        flags = [*TOPOLOGY, "--sp", "--plan-dims", "batch=64,seq=2048,past=0"]
        plan = self.folder / "plan.json"
        self.run_ok("shardc", self.folder / "decoder.onnx", "--tp", 12, *flags, "--save-plan", plan)
        programs = json.loads(plan.read_text())["programs"]
        self.assertEqual(sorted(programs), ["main_decode", "main_prefill"])
        weights = [{op["node"]: op["splits"] for op in ops if op["op"] == "Weight" and op.get("splits")} for ops in programs.values()]
        for splits in (s for of_program in weights for of_weight in of_program.values() for s in of_weight):
            splits.pop("region")
        self.assertEqual(*weights)
        said = self.run_ok("shardc", "verify", self.folder / "decoder.onnx", "--load-plan", plan, "--dims", "batch=2,seq=7,past=3")
        self.assertIn("computes what one rank computes", said)

    def test_without_sizes_nothing_is_chosen(self):
        self.assertIsNone(self.choice(model_file("gpt2-dynamo-op20"), 12, *TOPOLOGY))

    def test_what_is_pinned_is_not_chosen(self):
        model, flags = model_file("llama-dynamo-op18"), [*TOPOLOGY, "--plan-dims", "batch=64,sequence=2048"]
        self.assertIsNone(self.choice(model, 12, *flags, "--pin", "node_linear_9=[{}, {}, {}]"))

    def unequal_devices(self, name):
        topology = self.folder / name
        link = {"gigabytes_per_second": 25, "microseconds": 4}
        slow = {"name": "slow", "memory": {"gigabytes": 80, "gigabytes_per_second": 400},
                "products": {"teraflops": {"16": 100, "32": 10}, "microseconds": 50}}  # fmt: skip
        text = {"nodes": 2, "devices_per_node": 1, "devices": ["h100", slow], "inside_node": link, "between_nodes": link}
        topology.write_text(json.dumps(text))
        return topology

    def test_flags_can_be_pasted(self):
        """As a shell takes them."""
        model, report = self.folder / "decoder.onnx", self.folder / "plans.json"
        onnx.save(decoder(layers=6), model)
        topology = self.unequal_devices("my machine's.json")
        self.run_ok("shardc", "plan", model, "--pp", 2, "--topology", topology, "--dims", "batch=64,seq=128,past=1024", "--json", report)
        flags = json.loads(report.read_text())["candidates"][0]["flags"]
        self.assertIn("--plan-dims batch=64,past=1024,seq=128", flags)
        self.run_ok("shardc", model, *shlex.split(flags), "--explain")

    def test_faster_devices_have_more_layers(self):
        """Stages take equally long, each on its own device, and compute the same."""
        onnx.save(decoder(layers=6), self.folder / "decoder.onnx")
        flags = ["--pp", 2, "--topology", self.unequal_devices("unequal.json")]

        def shares(*more):
            ranks = self.explain(self.folder / "decoder.onnx", 1, *flags, *more)["ranks"]
            return [rank["weight_bytes"] for rank in sorted(ranks, key=lambda rank: rank["rank"])]

        first, second = shares("--plan-dims", "batch=64,seq=64,past=64")
        self.assertGreater(first, 2 * second)
        before = shares()
        self.assertLess(max(before), 2 * min(before))
        name = "gpt2-dynamo-op20"
        artifact = self.compile(model_file(name), 1, *flags, "--plan-dims", "batch=64,sequence=2048")
        for data_set in data_sets(name):
            self.execute(artifact, data_set)
