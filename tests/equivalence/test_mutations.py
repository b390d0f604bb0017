"""A wrong program does not run: mutants of partitioned modules are refused, or compute the same.

tests/equivalence/mutants makes them. `shardc verify --programs` reads all of a model at once: each goes through the
parser, the verifiers of its ops and verify-phase. The few that are accepted run in double precision against one rank, on
the model's data and on inputs at uneven sizes: only a difference below 1e-9 of the largest value excuses them.

    python -m tests.equivalence.test_mutations --models 'llama*' --count 500      more of the corpus beside the clone
"""

import argparse
import collections
import copy
import fnmatch
import json
import re
import subprocess
import sys
import unittest

from tests.corpus.plan_table import CORPUS
from tests.equivalence import mutants
from tests.support import BIN, BUILD, MODELS, ROOT, EndToEnd, model_file

COUNT = 60  # of collectives and transfers, a model
OTHERS = 60  # of everything else
SEED = 20
EVERYTHING = ("--pp", "2", "--cp", "2", "--ep", "2", "--tp", "2", "--sp")
# Of the corpus by default: each kind of model and structure once.
CHOSEN = (
    "deepseekv3-optimum-kv", "gptoss-genai-fp32", "llama-int4-matmulnbits", "mixtral-hf5-kv", "t5-optimum-decoder-merged",
    "vit-dynamo-op18", "whisper-dynamo-op20",
)  # fmt: skip


def partitioned(model, plan):
    command = [BIN / "shardc", model, *plan, "--precision", "f64", "--to", "partitioned"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


def judge(model, chosen, file):
    """The verdict on each mutant."""
    file.write_text("// -----\n".join(mutant.text for mutant in chosen))
    command = [BIN / "shardc", "verify", model, "--precision", "f64", "--programs", file, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"shardc verify ended with {done.returncode}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)["programs"]


def complaint(verdict):
    """What is wrong with a verdict; None if nothing is."""
    if verdict["verdict"] not in ("refused", "agrees"):
        return f"accepted, but {verdict['verdict']}: {verdict['why']}"
    if verdict["verdict"] == "refused" and re.search(r"^\S* program \d+:\d+:\d+:", verdict["why"]):
        return f"does not even parse, which tests nothing: {verdict['why']}"
    return None


class Mutations(EndToEnd):
    def check(self, model, *plan, only_movements=False, count=COUNT):
        text = partitioned(model, plan)
        chosen = [mutants.Mutant("none", "the program itself", text)]
        chosen += mutants.choose(text, count, SEED, only_movements)
        verdicts = judge(model, chosen, self.folder / "mutants.mlir")
        self.assertEqual(verdicts[0]["verdict"], "agrees", verdicts[0]["why"])
        self.kinds, accepted = collections.Counter(), []
        for mutant, verdict in zip(chosen[1:], verdicts[1:], strict=True):
            self.kinds[mutant.kind] += 1
            with self.subTest(kind=mutant.kind, what=mutant.what):
                self.assertIsNone(complaint(verdict))
            if verdict["verdict"] == "agrees":
                accepted.append(f"{mutant.kind}: {mutant.what}")
        self.assertEqual(len(chosen), 1 + count)
        self.assertLess(len(accepted), count / 4, accepted)

    def test_one_axis(self):
        """Everything that can be wrong with a program, computations included."""
        for name in ("bert-ts-op17", "gpt2-dynamo-op20", "llama-dynamo-op18"):
            self.check(model_file(name), "--tp", "2", count=COUNT + OTHERS)
            self.assertGreater(len(self.kinds), 25, self.kinds)

    def test_parts_of_an_axis(self):
        """More ranks than KV heads: 4 of the 8 ways split those, the other 2 the query heads of each."""
        self.check(model_file("llama-dynamo-op18"), "--tp", "8", count=COUNT + OTHERS)

    def test_unequal_parts(self):
        """Of heads, positions and their reverse; and other shares than the program was made for."""
        model = model_file("llama-dynamo-op18")
        for plan in (["--tp", "2", "--shares", "3,1"], ["--cp", "2", "--tp", "3", "--shares", "1,3", "--shares", "5,2,1"]):
            self.check(model, *plan, count=COUNT + OTHERS)
            text = partitioned(model, plan)
            shares = re.findall(r":\[([\d, ]+)\]", re.search("dist.mesh .*", text)[0])
            self.assertEqual(len(shares), plan.count("--shares"))
            others = [(one, other) for one in shares for other in ("", f":[{', '.join(one.split(', ')[::-1])}]")]
            chosen = [mutants.Mutant("shares", other, text.replace(f":[{one}]", other, 1)) for one, other in others]
            for mutant, verdict in zip(chosen, judge(model, chosen, self.folder / "mutants.mlir"), strict=True):
                with self.subTest(kind=mutant.kind, what=mutant.what):
                    self.assertEqual(verdict["verdict"], "refused", verdict["why"])
                    self.assertIsNone(complaint(verdict))

    def test_weights_that_ranks_share_out(self):
        """Rows over one axis, with gathers of weights; heads over another."""
        self.check(model_file("llama-dynamo-op18"), "--fsdp", "2", "--tp", "2", count=COUNT + OTHERS)

    def test_all_axes(self):
        """Collectives over each axis, and transfers between stages."""
        for folder in sorted(MODELS.iterdir()):
            with self.subTest(model=folder.name):
                self.check(folder / "model.onnx", *EVERYTHING, only_movements=True)
                self.assertGreater(sum(n for kind, n in self.kinds.items() if "transfer" in kind), 10)

    @unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
    def test_corpus(self):
        for name in CHOSEN:
            with self.subTest(model=name):
                self.check(CORPUS / name / "model.onnx", *EVERYTHING, only_movements=True)


class Mutator(EndToEnd):
    """The maker of mutants keeps what it does not change, and verify-phase refuses no harmless change."""

    def verify(self, text):
        command = [BIN / "shard-opt", "--shardc-verify-phase=phase=partitioned", "-o", "/dev/null", "-"]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)

    def test_harmless_changes_pass(self):
        text = self.run_ok("shardc", model_file("gpt2-dynamo-op20"), "--tp", 2, "--to", "partitioned")
        module = mutants.Module.parse(text)
        program = module.bodies[0]
        adds = [i for i, op in enumerate(program.ops) if op.name == "onnx.Add"]
        twin = copy.deepcopy(program.ops[adds[0]])
        twin.results = "%twin"
        program.ops.insert(adds[0] + 1, twin)  # the same again, for one of its users
        op, index = program.uses(program.ops[adds[0]].results)[-1]
        op.operands[index] = "%twin"
        weights = [i for i, op in enumerate(program.ops) if op.name == "onnx.Weight"][:2]
        program.ops[weights[0]], program.ops[weights[1]] = program.ops[weights[1]], program.ops[weights[0]]
        self.assertNotEqual(str(module), text)
        done = self.verify(str(module))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_prints_what_it_parsed(self):
        def plain(text):
            return [re.sub(" +", " ", line.strip()) for line in text.strip().splitlines()]

        for flags in (["--tp=3"], ["--pp=2", "--cp=2", "--tp=2"]):
            text = self.run_ok("shardc", model_file("gpt2-dynamo-op20"), *flags, "--to=partitioned")
            self.assertEqual(plain(str(mutants.Module.parse(text))), plain(text))

    def test_splits_outside_brackets(self):
        self.assertEqual(mutants.split('a<b, c>, d "x, y", (e -> f, g)', ", "), ["a<b, c>", 'd "x, y"', "(e -> f, g)"])


def main():
    """Any number of mutants of any model of the corpus, with counts by kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="*", help="pattern of names in the corpus")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--plan", default=" ".join(EVERYTHING), help='flags of shardc, "--tp 2 --pp 2" say')
    parser.add_argument("--everything", action="store_true", help="computations too, not only what moves values")
    arguments = parser.parse_args()
    file, wrong, total = BUILD / "mutants.mlir", 0, collections.Counter()
    for folder in sorted(CORPUS.iterdir()):
        model = folder / "model.onnx"
        if not model.exists() or not fnmatch.fnmatch(folder.name, arguments.models):
            continue
        text = partitioned(model, arguments.plan.split())
        chosen = list(mutants.choose(text, arguments.count, arguments.seed, not arguments.everything))
        counts = collections.Counter()
        for mutant, verdict in zip(chosen, judge(model, chosen, file), strict=True):
            counts[verdict["verdict"]] += 1
            total[mutant.kind, verdict["verdict"]] += 1
            if why := complaint(verdict):
                wrong += 1
                print(f"  {mutant.kind}, {mutant.what}: {why}")
        print(folder.name, dict(counts), flush=True)
    for (kind, verdict), count in sorted(total.items()):
        print(f"{kind:30} {verdict:8} {count}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
