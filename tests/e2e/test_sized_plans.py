"""Plans for requests of known sizes: splits of weights are chosen by predicted time, and the numbers stay the same."""

import json

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
