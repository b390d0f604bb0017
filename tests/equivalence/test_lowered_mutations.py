"""A wrong lowered program does not run: mutants of lowered modules are refused, or give the same bits.

tests/equivalence/mutants/lowered.py makes them. Each goes through `shardc --from lowered`, which checks what it reads like
what it makes; the few that are accepted run beside the program itself, at sizes that verify-phase does not try.

    python -m tests.equivalence.test_lowered_mutations --models 'llama*' --count 300    more of the corpus beside the clone
"""

import argparse
import collections
import fnmatch
import re
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx

from tests.corpus.plan_table import CORPUS
from tests.e2e import test_control_flow as flow
from tests.e2e.caches import decoder
from tests.e2e.test_parallel import experts_model
from tests.equivalence.mutants.lowered import Lowered, choose_lowered, every_size_set, every_untold
from tests.equivalence.mutants.programs import choose_programs
from tests.support import MODELS, EndToEnd, data_sets, model_file, program, read_outputs

COUNT = 60  # a model
SEED = 19
EVERYTHING = ("--pp", "2", "--cp", "2", "--ep", "2", "--tp", "2", "--sp")
PARSING = re.compile(r":\d+:\d+: error:")


class Judge:
    """Runs mutants of one module beside it."""

    def __init__(self, model, plan, folder):
        self.model, self.folder = model, folder
        done = program("shardc", model, *plan, "--to", "lowered")
        assert done.returncode == 0, done.stderr
        self.text = done.stdout
        self.bits = None

    def outputs(self, text):
        """What the program gives for the model's data; None, and why, where it is refused or fails."""
        file, artifact = self.folder / "program.mlir", self.folder / "program.shard"
        file.write_text(text)
        done = program("shardc", file, "--from", "lowered", "-o", artifact)
        if done.returncode != 0:
            return None, done.stderr
        given = []
        for data in data_sets(self.model.parent):
            run = program("shardrun", artifact, "--inputs", data, "--outputs", self.folder / "out", "--timeout", "20")
            if run.returncode not in (0, 1):
                return None, f"fails while it runs: {run.stderr}"
            given.append([tensor.tobytes() for tensor in read_outputs(self.folder / "out")])
        return given, ""

    def complaint(self, mutant):
        """What is wrong with the verdict on a mutant; None if nothing is."""
        if self.bits is None:
            self.bits, why = self.outputs(self.text)
            assert self.bits, why
        found, why = self.outputs(mutant.text)
        if found is None:
            return f"does not even parse, which tests nothing: {why[:300]}" if PARSING.search(why) else None
        return None if found == self.bits else "accepted, but gives other numbers"


class LoweredMutations(EndToEnd):
    def check(self, model, *plan, count=COUNT):
        judge = Judge(model, plan, self.folder)
        kinds = collections.Counter()
        for mutant in choose_lowered(judge.text, count, SEED):
            kinds[mutant.kind] += 1
            with self.subTest(model=model.parent.name, kind=mutant.kind, what=mutant.what):
                self.assertIsNone(judge.complaint(mutant))
        self.assertEqual(sum(kinds.values()), count)
        self.assertGreater(len(kinds), 7, kinds)

    def save(self, name, model, *inputs):
        file = self.folder / name / "model.onnx"
        (file.parent / "test_data_set_0").mkdir(parents=True)
        onnx.save(model, file)
        for i, array in enumerate(inputs):
            tensor = onnx.numpy_helper.from_array(np.asarray(array))
            onnx.save_tensor(tensor, file.parent / f"test_data_set_0/input_{i}.pb")
        return file

    def test_all_axes(self):
        for folder in sorted(MODELS.iterdir()):
            self.check(folder / "model.onnx", *EVERYTHING)

    def test_loops(self):
        """Of bodies, of what goes from one iteration to the next, and of what is left behind them."""
        trips, limit = np.int64(5), np.float32(1000)
        for name, made, feed in (
            ("early", flow.model(f"{flow.X}, int64 trips, float limit", "float[n, 8] y, float[t, 8] rows", flow.LOOP), [trips, limit]),
            ("branches", flow.model(f"{flow.X}, int64 trips", "float[n, 8] y, float[t] kept", flow.NESTED), [trips]),
            ("sizes", flow.model(flow.X, "float[m, 8] y", flow.SIZES), []),
            ("scan", flow.model(flow.X, "float[n, 8] y, float[8] total, float[8, n] backwards", flow.SCAN), []),
        ):
            model = self.save(name, made, flow.numbers(3, 5, flow.SIZE), *feed)
            plan = ("--tp", "2", "--kernels", "reference")
            self.check(model, *plan)
            judge = Judge(model, plan, self.folder)
            for mutant in every_size_set(judge.text):
                with self.subTest(model=name, kind=mutant.kind, what=mutant.what):
                    self.assertIsNone(judge.complaint(mutant))

    def test_unequal_parts(self):
        """Of ranks of one axis, and of rings whose parts have other sizes on each rank."""
        self.check(model_file("gpt2-dynamo-op20"), "--tp", "3", "--sp", "--shares", "5,2,1")
        llama, plan = model_file("llama-dynamo-op18"), ("--cp", "2", "--tp", "2", "--shares", "cp=3,1", "--shares", "tp=1,3")
        self.check(llama, *plan)
        judge = Judge(llama, plan, self.folder)
        for given in (":[3, 1]", ":[1, 3]"):
            for other in ("", ":[2, 1]", ":[1, 3]", ":[3, 1]", ":[4, 1]"):
                if other == given:
                    continue
                with self.subTest(given=given, other=other):
                    found, why = judge.outputs(judge.text.replace(given, other, 1))
                    self.assertIsNone(found)
                    self.assertIn("local sizes do not follow from its sharding", why)

    def test_ring(self):
        """Of four, so that parts travel further than from the neighbour."""
        self.check(model_file("llama-dynamo-op18"), "--cp", "4")

    def test_weights_that_ranks_share_out(self):
        self.check(model_file("llama-dynamo-op18"), "--fsdp", "2", "--tp", "2", "--target", "cuda")

    def test_tokens_that_go_to_their_experts(self):
        tokens = np.random.default_rng(3).standard_normal((7, 8)).astype(np.float32)
        self.check(self.save("experts", experts_model(experts=8), tokens), "--ep", "4", "--sp")

    def test_products_beside_collectives(self):
        """As for a GPU: products with their sums and activations, of joined weights, cut by rows."""
        self.check(model_file("llama-dynamo-op18"), "--tp", "2", "--sp", "--target", "cuda", "--overlap", "2")

    def test_what_programs_say(self):
        """Requests, stages and caches of programs, of which a run without a state shows nothing: all are refused."""
        for model, *plan in (
            (model_file("llama-genai-int4"), "--tp", "2", "--sp"),
            (model_file("llama-genai-int4"), "--tp", "2", "--target", "cuda"),
            (model_file("llama-dynamo-op18"), "--pp", "2", "--tp", "2"),
        ):
            judge = Judge(model, plan, self.folder)
            self.assertTrue(judge.outputs(judge.text)[0])
            mutants = [*choose_programs(judge.text)]
            self.assertGreater(len(mutants), 3)
            for mutant in mutants:
                with self.subTest(model=model.parent.name, plan=plan, kind=mutant.kind, what=mutant.what):
                    found, why = judge.outputs(mutant.text)
                    self.assertIsNone(found)
                    self.assertNotRegex(why, f"{PARSING.pattern}|fails while it runs")

    def test_untold_kernels(self):
        """No entry of a call's configuration may be left out, of any kernel: what the kernel does without may be wrong."""
        for name, *plan in (
            ("llama-genai-int4", "--tp", "2", "--cp", "2"),
            ("gpt2-dynamo-op20", "--tp", "2", "--sp", "--kernels", "reference"),
        ):
            judge = Judge(model_file(name), plan, self.folder)
            for mutant in every_untold(judge.text):
                with self.subTest(model=name, what=mutant.what):
                    self.assertIsNone(judge.complaint(mutant))
                    self.assertNotIn("fails while it runs", judge.outputs(mutant.text)[1])

    def test_parts_of_pages(self):
        """Where a rank's places are in a page, and how many that has."""
        file = self.save("latent", decoder(key_heads=1))
        judge = Judge(file, ("--tp", "2", "--serve=4"), self.folder)
        places = re.compile(r", places = #dist.dims<\[@tp \* 2, 4\]>")
        self.assertEqual(len(places.findall(judge.text)), 2 * 3)
        for number, match in enumerate(places.finditer(judge.text)):
            for other in ("", match[0].replace("* 2, 4", "* 2, 8"), match[0].replace("* 2, 4", "* 1, 4"), match[0].replace("@tp * 2", "0")):
                with self.subTest(number=number, other=other):
                    found, why = judge.outputs(judge.text[: match.start()] + other + judge.text[match.end() :])
                    self.assertIsNone(found)
                    self.assertRegex(why, 'is not told "places"|is told another "places" than the op says')

    def test_constant_of_other_ranks(self):
        """Split over the other axis of the same size, which the first rank and the last have alike."""
        judge = Judge(model_file("vit-ts-static-op17"), ("--tp", "2", "--ep", "2"), self.folder)
        pattern = r'(rt\.constant .*sharding = \[\{)"tp"=2(\}\])'
        self.assertRegex(judge.text, pattern)
        found, why = judge.outputs(re.sub(pattern, r'\1"ep"=2\2', judge.text))
        self.assertIsNone(found)
        self.assertIn("is held otherwise by the ranks", why)

    def test_places_on_other_ranks(self):
        """Of 6 heads over 4 ranks the third starts at another one, the first rank and the last where they should."""
        judge = Judge(model_file("gpt2-dynamo-op20"), ("--tp", "4", "--kernels", "reference"), self.folder)
        module, count = Lowered(judge.text), 0
        for instruction in module.instructions:
            for number, name in enumerate(instruction.operands):
                view = module.view(name)
                if count < 4 and view and "(@tp * 6) floordiv 4" in view.parts[3]:
                    count += 1
                    wrong = view.changed(3, None, lambda o: o.replace("(@tp * 6) floordiv 4", "(@tp * 4) floordiv 3"))
                    with self.subTest(line=instruction.line, operand=number):
                        found, why = judge.outputs(module.with_view(instruction, number, wrong))
                        self.assertIsNone(found)
                        self.assertRegex(why, "what was partitioned|bytes of its buffer")
        self.assertGreater(count, 0)

    def test_changed_function(self):
        """A function that was changed together with its program is not what was imported."""
        judge = Judge(model_file("vit-ts-static-op17"), ("--tp", "2", "--kernels", "reference"), self.folder)
        found, why = judge.outputs(re.sub(r"\bepsilon = [\d.E+-]+", "epsilon = 0.5", judge.text))
        self.assertIsNone(found)
        self.assertIn("does not compute what the imported model computes", why)

    def test_lost_function(self):
        """Nothing says what a program computes that comes without what it was made of."""
        judge = Judge(model_file("bert-ts-op17"), ("--tp", "2"), self.folder)
        changed, count = re.subn(r", rt\.partitioned = @stage0\.partitioned\b", "", judge.text, count=1)
        self.assertEqual(count, 1)
        found, why = judge.outputs(changed)
        self.assertIsNone(found)
        self.assertIn("rt.partitioned", why)


def main():
    """Any number of mutants of any model of the corpus, with counts by kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="*", help="pattern of names in the corpus")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--plan", default=" ".join(EVERYTHING), help='flags of shardc, "--tp 2 --pp 2" say')
    arguments = parser.parse_args()
    wrong, total = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for directory in sorted(CORPUS.iterdir()):
            model = directory / "model.onnx"
            if not model.exists() or not fnmatch.fnmatch(directory.name, arguments.models):
                continue
            judge = Judge(model, arguments.plan.split(), Path(folder))
            for mutant in choose_lowered(judge.text, arguments.count, arguments.seed):
                total += 1
                if why := judge.complaint(mutant):
                    wrong += 1
                    print(f"  {mutant.kind}, {mutant.what}: {why}", flush=True)
            print(directory.name, total, "mutants,", wrong, "wrong", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
