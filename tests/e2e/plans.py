"""Plans, as words of a command line, beside one rank."""

import json

import numpy as np
import onnx

from tests.e2e.caches import VOCABULARY, decoder, write_request, write_steps
from tests.support import EndToEnd, data_sets, model_file, read_outputs


class PlanTest(EndToEnd):
    def artifact(self, model, plan, *flags, to="plan.shard"):
        target = self.folder / to
        self.run_ok("shardc", model, *plan.split(), "-o", target, *flags)
        return target

    def report(self, model, plan, *flags):
        """What --explain-json says."""
        file = self.folder / "report.json"
        self.run_ok("shardc", model, *plan.split(), "--explain-json", file, *flags)
        return json.loads(file.read_text())

    def check_models(self, names, plans):
        for name in names:
            for file, rounding in self.accuracies(name):
                self.check_plans(file, plans, data_sets(name), rounding)

    def check_plans(self, file, plans, requests, rounding):
        one = self.compile(file, 1, to="one.shard")
        for data_set in requests:
            expected = self.execute(one, data_set)
            for plan in plans:
                with self.subTest(file.parent.name, plan=plan, data_set=data_set.name, rounding=rounding):
                    self.assert_same_numbers(self.execute(self.artifact(file, plan), data_set), expected, rounding)

    def check_prompts(self, plans, sizes):
        """Of a decoder, for sizes (batch, positions)."""
        model = decoder()
        file = self.folder / "decoder.onnx"
        onnx.save(model, file)
        one = self.compile(file, 1, to="one.shard")
        for plan in plans:
            artifact = self.artifact(file, plan)
            for batch, length in sizes:
                with self.subTest(plan, batch=batch, length=length):
                    ids = np.random.default_rng(batch).integers(0, VOCABULARY, (batch, length))
                    data = write_request(self.folder / f"{plan}{batch}{length}", model, 0, ids)
                    out, whole = self.folder / "out", self.folder / "whole"
                    self.run_ok("shardrun", one, "--inputs", data, "--outputs", whole)
                    self.run_ok("shardrun", artifact, "--inputs", data, "--outputs", out, "--check-replicas")
                    self.assert_same_numbers(read_outputs(out), read_outputs(whole))

    def check_prompt_and_steps(self, plans, batch, total=9):
        """Five positions of a decoder, then one by one, against all of them at once."""
        model = decoder()
        file = self.folder / "decoder.onnx"
        onnx.save(model, file)
        ids = np.random.default_rng(3).integers(0, VOCABULARY, (batch, total))
        folders = write_steps(self.folder / "steps", model, ids, [5] + [1] * (total - 5))
        write_request(self.folder / "whole", model, 0, ids)
        whole = self.folder / "expected"
        self.run_ok("shardrun", self.compile(file, 1, to="one.shard"), "--inputs", self.folder / "whole", "--outputs", whole)
        for plan in plans:
            with self.subTest(plan):
                out = self.folder / ("out" + plan.replace(" ", ""))
                artifact = self.artifact(file, plan)
                self.run_ok("shardrun", artifact, "--inputs", *folders, "--cache", total, "--outputs", out)
                logits = [read_outputs(out / str(i))[0] for i in range(len(folders))]
                self.assert_same_numbers([np.concatenate(logits, axis=1)], [read_outputs(whole)[0]])
