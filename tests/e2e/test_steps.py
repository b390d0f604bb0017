"""Prompts and steps of decoding have programs of their own where a plan splits the sequence; one artifact has both."""

import json

import numpy as np
import onnx

from tests.e2e.caches import VOCABULARY, decoder, write_request
from tests.support import EndToEnd, program, read_outputs

LENGTHS = [5, 1, 1, 3, 1, 1]  # prompts and steps in turn: each goes on where the other stopped
TOTAL = sum(LENGTHS)
PLANS = ("--tp 2 --sp", "--tp 3 --sp", "--tp 4 --sp", "--cp 2", "--cp 2 --tp 2 --sp", "--pp 2 --tp 2 --sp",
         "--dp 2 --pp 2 --cp 2 --tp 2 --sp", "--pp 2 --tp 2 --sp --micro-batches 2")  # fmt: skip


class Steps(EndToEnd):
    def setUp(self):
        super().setUp()
        self.model, self.file = decoder(), self.folder / "decoder.onnx"
        onnx.save(self.model, self.file)
        self.ids = np.random.default_rng(3).integers(0, VOCABULARY, (2, TOTAL))
        self.requests, past = [], 0
        for i, length in enumerate(LENGTHS):
            ids = self.ids[:, past : past + length]
            self.requests.append(write_request(self.folder / "requests" / str(i), self.model, past, ids))
            past += length
        write_request(self.folder / "whole", self.model, 0, self.ids)

    def outputs(self, artifact, requests, *flags):
        out = self.folder / "out" / artifact.name
        self.run_ok("shardrun", artifact, "--inputs", *requests, "--outputs", out, "--check-replicas", *flags)
        return [read_outputs(out / str(i) if len(requests) > 1 else out) for i in range(len(requests))]

    def artifact(self, plan, *flags, name=None):
        target = self.folder / (name or plan.replace(" ", ""))
        self.run_ok("shardc", self.file, *plan.split(), "-o", target, *flags)
        return target

    def test_a_prompt_and_steps_are_one_run(self):
        one = self.artifact("--tp 1")
        expected = self.outputs(one, [self.folder / "whole"])[0][0]
        for plan in PLANS:
            for flags in ([], ["--weights", "copy"]):
                with self.subTest(plan, flags=flags):
                    artifact = self.artifact(plan, *flags)
                    parts = self.outputs(artifact, self.requests, "--cache", TOTAL)
                    logits = np.concatenate([part[0] for part in parts], axis=1)
                    self.assert_same_numbers([logits], [expected])

    def test_without_a_state(self):
        """Past and present are handed on by the caller, from either program to the other."""
        one = self.artifact("--tp 1")
        for plan in ("--tp 2 --sp", "--cp 2 --tp 2"):
            artifact, past = self.artifact(plan), None
            for request in self.requests:
                if past is not None:
                    for i, tensor in enumerate(past):
                        file = next(f for f in request.glob("*.pb") if f.name == f"input_{3 + i}.pb")
                        name = onnx.load_tensor(file).name
                        onnx.save_tensor(onnx.numpy_helper.from_array(tensor, name), file)
                expected = self.outputs(one, [request])[0]
                found = self.outputs(artifact, [request])[0]
                with self.subTest(plan, request=request.name):
                    self.assert_same_numbers(found, expected)
                past = expected[1:]

    def test_only_the_prompt_splits_the_sequence(self):
        report = self.folder / "report.json"
        self.run_ok("shardc", self.file, "--tp", 2, "--sp", "--explain-json", report)
        report = json.loads(report.read_text())
        kinds = {"decode": [], "prefill": []}
        for entry in report["collectives"]:
            kinds[entry["profile"]].append(entry["kind"])
        self.assertIn("reduce_scatter", kinds["prefill"])
        self.assertEqual(set(kinds["decode"]), {"all_reduce", "all_gather"})
        self.assertEqual([p["name"] for p in report["profiles"]], ["decode", "prefill"])
        self.assertEqual(report["profiles"][0]["when"], [{"input": "input_ids", "dim": 1, "size": 1}])
        text = self.run_ok("shardc", self.file, "--tp", 2, "--sp", "--explain")
        self.assertRegex(text, r"decode: requests in which dim 1 of input_ids is 1\n  prefill: all others")
        self.assertRegex(text, r"collectives per run with decode\n")

    def test_types_are_told_for_all_requests(self):
        """Not as the program for a step has them, whose sequence is 1."""
        done = program("shardrun", self.artifact("--tp 2 --sp"), "--inputs", self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected input 'input_ids', int64 [batch, seq]", done.stderr)

    def test_both_programs_share_weights(self):
        """What a rank holds of the weights is what it holds with one program."""
        reports = []
        for flags in ([], ["--sp"]):
            file = self.folder / "report.json"
            self.run_ok("shardc", self.file, "--tp", 2, *flags, "--explain-json", file)
            reports.append([rank["weight_bytes"] for rank in json.loads(file.read_text())["ranks"]])
        self.assertEqual(*reports)

    def test_a_plan_that_splits_no_sequence_has_one_program(self):
        artifact = self.artifact("--tp 2")
        self.assertEqual(len(list(artifact.glob("*.program"))), 1)
        self.assertNotIn("onnx.when", program("shardc", self.file, "--tp", 2, "--to", "imported").stdout)
