"""Every decoder of the corpus goes on as a plain loop over ONNX Runtime does (generation.json, written by
record_generation.py), whatever the plan and whoever shares the batch: greedily, and as a seed has it."""

import json
import unittest
from concurrent.futures import ThreadPoolExecutor

import onnx

from tests.corpus.plan_table import CORPUS
from tests.corpus.record_generation import DRAWN, FILE, REQUESTS, extra_of
from tests.corpus.test_decoding import decoders
from tests.python import support  # noqa: F401  before what follows
from tests.support import EndToEnd, model_file, program

import shardrt  # isort: skip

PLANS = ("--tp 1", "--tp 2", "--tp 3", "--pp 2", "--dp 2", "--tp 2 --pp 2")
SERVED = (*(f"--serve=16 {plan}" for plan in PLANS), "--tp 2")
RECORDED = json.loads(FILE.read_text())


def check(file, name, plan, folder):
    """What a plan does with both prompts at once, and with parts of prompts."""
    recorded, artifact = RECORDED[name], folder / f"{name}{plan.replace(' ', '')}.shard"
    done = program("shardc", file, *plan.split(), "-o", artifact)
    assert done.returncode == 0, done.stderr[-500:]
    model = onnx.load(file, load_external_data=False)
    prompts, inputs = [each["prompt"] for each in recorded], [extra_of(model, each["seed"]) for each in recorded]
    count = max(len(each["greedy"]) for each in recorded)  # one that has no more room ends before
    with shardrt.Generator(artifact, step_tokens=5) as generator:
        for kind, options in (("greedy", {}), ("drawn", DRAWN)):
            together = generator.generate(prompts, inputs=inputs, max_tokens=count, **options)
            for text, each in zip(together, recorded, strict=True):
                assert text.ids == each[kind], f"{kind}: {text.ids} instead of {each[kind]}"
            alone = generator.generate(prompts[1:], inputs=inputs[1:], max_tokens=count, **options)[0]
            assert alone.ids == recorded[1][kind], f"{kind}, alone: {alone.ids} instead of {recorded[1][kind]}"


class Generation(EndToEnd):
    def assert_go_on(self, file, name):
        problems = []
        for plan in PLANS if name in REQUESTS else SERVED:
            try:
                check(file, name, plan, self.folder)
            except (AssertionError, shardrt.Error) as error:
                problems.append(f"{plan}: {error}")
        self.assertEqual(problems, [], name)

    def test_models_of_the_tree(self):
        for name in ("llama-genai-int4", "llama-dynamo-op18"):
            self.assert_go_on(model_file(name), name)

    @unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
    def test_all_of_the_corpus(self):
        self.assertLessEqual({file.parent.name for file in decoders()}, set(RECORDED))

        def problems(name):
            try:
                self.assert_go_on(CORPUS / name / "model.onnx", name)
            except AssertionError as error:
                return str(error)

        with ThreadPoolExecutor(2) as pool:
            found = list(filter(None, pool.map(problems, RECORDED)))
        self.assertFalse(found, "\n".join(found))

    @unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
    def test_forks(self):
        """Beams and samples are forks: of pages on two ranks, and of whole states on one."""
        for name in ("gemma2-optimum-kv", "gptoss-genai-fp32", "llama-optimum-kv", "t5-optimum-decoder-merged"):
            file, found = CORPUS / name / "model.onnx", []
            model, recorded = onnx.load(file, load_external_data=False), RECORDED[name]
            prompts, inputs = [each["prompt"] for each in recorded], [extra_of(model, each["seed"]) for each in recorded]
            for i, flags in enumerate((["--serve=8", "--tp", 2], ["--tp", 1])):
                artifact = self.folder / f"{name}{i}.shard"
                self.run_ok("shardc", file, *flags, "-o", artifact)
                with shardrt.Generator(artifact) as generator:
                    for options in ({"n": 3, "temperature": 0.9, "seed": 3}, {"beams": 4, "n": 4}):
                        texts = generator.generate(prompts, inputs=inputs, max_tokens=12, **options)
                        found.append([text.ids for text in texts])
            with self.subTest(name):
                self.assertEqual(found[:2], found[2:])
                self.assertGreater(len(set(map(tuple, found[0] + found[1]))), 8)


if __name__ == "__main__":
    unittest.main()
