"""A wrong program does not compile: mutants of partitioned modules are refused, or compute the same bits.

mutants.py makes them. Each goes through the parser, the verifiers of its ops and verify-phase. The few that are
accepted are compiled on and run: only bits equal to the original's on every data set excuse them.
"""

import collections
import copy
import re
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.equivalence import mutants
from tests.support import BIN, EndToEnd, data_sets, model_file

COUNT = 90  # mutants a model
SEED = 20
VERIFY = [BIN / "shard-opt", "--shardc-verify-phase=phase=partitioned", "-o", "/dev/null", "-"]


def verify(text):
    done = subprocess.run(VERIFY, input=text, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


class Mutations(EndToEnd):
    def check(self, model, tp=2):
        text = self.run_ok("shardc", model_file(model), "--tp", tp, "--to", "partitioned")
        self.assertEqual(verify(text)[0], 0, "the original is refused")
        artifact = self.compile(model_file(model), tp)
        self.expected = [self.execute(artifact, data_set) for data_set in data_sets(model)]
        count, equal = collections.Counter(), []
        chosen = list(mutants.choose(text, COUNT, SEED))
        with ThreadPoolExecutor(2) as pool:
            verdicts = pool.map(verify, (mutant.text for mutant in chosen))
            for mutant, (status, errors) in zip(chosen, verdicts):
                count[mutant.kind] += 1
                with self.subTest(kind=mutant.kind, what=mutant.what):
                    if status == 0:
                        self.assert_equivalent(model, mutant)
                        equal.append(mutant)
                    else:
                        self.assert_refused(mutant, status, errors)
        self.assertEqual(len(chosen), COUNT)
        self.assertGreater(min(count.values()), 0)
        self.assertGreater(len(count), 20, f"kinds: {dict(count)}")
        self.assertLess(len(equal), COUNT / 10, [f"{mutant.kind}: {mutant.what}" for mutant in equal])

    def assert_refused(self, mutant, status, errors):
        """By a verifier: what does not even parse tests nothing."""
        self.assertEqual(status, 1, errors[-2000:])
        self.assertRegex(errors, r"error: loc\(")
        self.assertNotRegex(errors, r"<stdin>:\d+:\d+: error")

    def assert_equivalent(self, model, mutant):
        file, artifact = self.folder / "mutant.mlir", self.folder / "mutant.shard"
        file.write_text(mutant.text)
        self.run_ok("shardc", file, "--from", "partitioned", "-o", artifact)
        for data_set, expected in zip(data_sets(model), self.expected):
            for a, b in zip(self.execute(artifact, data_set), expected, strict=True):
                self.assertEqual(a.tobytes(), b.tobytes(), "accepted, but computes something else")

    def test_bert(self):
        self.check("bert-ts-op17")

    def test_gpt2(self):
        self.check("gpt2-dynamo-op20")

    def test_llama(self):
        self.check("llama-dynamo-op18")

    def test_llama_on_parts_of_the_axis(self):
        """More ranks than KV heads: 4 of the 8 ways split those, the other 2 the query heads of each."""
        self.check("llama-dynamo-op18", tp=8)


class Mutator(EndToEnd):
    """The maker of mutants keeps what it does not change, and verify-phase refuses no harmless change."""

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
        status, errors = verify(str(module))
        self.assertEqual(status, 0, errors)

    def test_prints_what_it_parsed(self):
        done = subprocess.run(
            [BIN / "shardc", model_file("gpt2-dynamo-op20"), "--tp=3", "--to=partitioned"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip

        def plain(text):
            return [re.sub(" +", " ", line.strip()) for line in text.strip().splitlines()]

        self.assertEqual(plain(str(mutants.Module.parse(done.stdout))), plain(done.stdout))

    def test_splits_outside_brackets(self):
        self.assertEqual(mutants.split('a<b, c>, d "x, y", (e -> f, g)', ", "), ["a<b, c>", 'd "x, y"', "(e -> f, g)"])


if __name__ == "__main__":
    unittest.main()
