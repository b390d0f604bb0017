"""Every op of the dialect, split along every factor of its sharding rule, computes what it computes whole.

All cases stand side by side in one model. For each factor, each number of ranks and each kind of sizes, shard-opt's
test pass writes the shardings straight from the rules, and the rest of the compiler and the runtime do the work:
verify-phase, collectives, lowering, kernels. Outputs must be those of one rank, and those of onnx.reference.

    .venv/bin/python -m unittest tests.equivalence.test_rules
    RULES="Gather Gemm.row" .venv/bin/python -m unittest tests.equivalence.test_rules     only these ops or cases
"""

import os
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.equivalence.cases import Sizes, Symbol, every_case, partial_cases, to_model
from tests.support import BIN

RANKS = [2, 3, 8]
SIZES = {
    "even": lambda ranks: [Sizes(ranks, 2 * ranks, ranks, 3 * ranks)],
    "uneven": lambda ranks: [Sizes(5, 7, 11, 13)],
    "fewer": lambda ranks: [Sizes(2, 3, 2, 4)],  # than ranks, mostly
    "symbolic": lambda ranks: [Sizes(Symbol(a), 4, 6, 5) for a in (7, 1, 0)],
}

def run(program, *arguments):
    command = [str(BIN / program), *(str(argument) for argument in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}\nexit status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def chosen(cases):
    names = os.environ.get("RULES", "").split()
    return [case for case in cases if not names or case.name in names or case.name.split(".")[0] in names]


def same(actual, expected, exact):
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return False
    if exact or actual.dtype.kind in "biu":
        return np.array_equal(actual, expected, equal_nan=actual.dtype.kind not in "biu")
    tolerance = 2e-3 if actual.dtype.itemsize < 4 else 2e-5
    return np.allclose(actual, expected, rtol=tolerance, atol=tolerance, equal_nan=True)


class Model:
    """Cases as one imported model, its inputs and its outputs on one rank."""

    def __init__(self, folder, case_lists):
        self.folder = folder
        folder.mkdir()
        self.cases = case_lists[0]
        model = to_model(self.cases).SerializeToString(deterministic=True)
        for cases in case_lists[1:]:
            if to_model(cases).SerializeToString(deterministic=True) != model:
                raise ValueError("the model must not depend on the value of a symbol")
        (folder / "model.onnx").write_bytes(model)
        self.imported = folder / "imported.mlir"
        self.imported.write_text(run("shardc", folder / "model.onnx", "--to=imported"))
        self.data = []
        for i, cases in enumerate(case_lists):
            path = folder / f"inputs{i}.npz"
            np.savez(path, **{name: data for case in cases for name, data in case.feeds().items()})
            self.data.append((path, cases))
        self.factors = []
        self.registered = set()
        for line in run("shard-opt", self.imported, "--shardc-test-list-factors", "-o", os.devnull).splitlines():
            kind, *words = line.split()
            if kind == "registered":
                self.registered.add(words[0])
            else:
                self.factors.append((words[0], words[1], words[2:]))

    def run(self, name, ranks, *options):
        """Outputs by name for each data set, and what the pass said."""
        sharded, artifact = self.folder / f"{name}.mlir", self.folder / name
        option = " ".join([f"ways={ranks}", *options])
        split = f"--shardc-test-split-factors={option}"
        said = run("shard-opt", self.imported, split, "--mlir-print-debuginfo", "-o", sharded)
        run("shardc", sharded, "--from=sharded", "--tp", ranks, "-o", artifact)
        results = []
        for i, (inputs, cases) in enumerate(self.data):
            outputs = self.folder / f"{name}.outputs{i}"
            run("shardrun", artifact, "--inputs", inputs, "--outputs", outputs, "--check-replicas")
            tensors = (onnx.load_tensor(outputs / f"output_{k}.pb") for k in range(len(list(outputs.iterdir()))))
            results.append({tensor.name: numpy_helper.to_array(tensor) for tensor in tensors})
        return results, said


def against_reference(model, results):
    """Cases whose outputs are not those of onnx.reference."""
    wrong = []
    for (_, cases), outputs in zip(model.data, results):
        for case in cases:
            if not case.reference:
                continue
            try:
                expected = ReferenceEvaluator(case.model()).run(None, case.feeds())
            except Exception as error:  # numpy refuses some operations on no elements at all
                if all(data.size for data in case.feeds().values()):
                    wrong.append(f"{case.name}: onnx.reference: {error!r}")
                continue
            for name, value in zip(case.outputs, expected):
                if not same(outputs[name], np.asarray(value), exact=False):
                    wrong.append(f"{name} is not what onnx.reference computes:\n{outputs[name]}\n{value}")
    return wrong


def against_one_rank(model, results, whole):
    return [
        f"{name} is not what one rank computes:\n{outputs[name]}\n{expected[name]}"
        for outputs, expected in zip(results, whole)
        for case in model.cases
        for name in case.outputs
        if not same(outputs[name], expected[name], case.exact)
    ]


@unittest.skipUnless((BIN / "shard-opt").exists() and (BIN / "shardrun").exists(), "shardc is not built")
class Rules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(os.environ.get("RULES_FOLDER", cls.temporary.name))
        cls.pool = ThreadPoolExecutor(os.cpu_count())

    @classmethod
    def tearDownClass(cls):
        cls.pool.shutdown()
        cls.temporary.cleanup()

    def model(self, name, case_lists):
        return Model(self.folder / name, [chosen(cases) for cases in case_lists])

    def check(self, kind):
        def model_of(ranks):
            model = self.model(f"{kind}{ranks}", [every_case(sizes) for sizes in SIZES[kind](ranks)])
            whole, _ = model.run("whole", 1, "factor=999")
            return model, whole, against_reference(model, whole)

        def split(model, whole, ranks, factor):
            results, _ = model.run(f"factor{factor}", ranks, f"factor={factor}")
            return against_one_rank(model, results, whole)

        runs = []
        for ranks, (model, whole, wrong) in zip(RANKS, self.pool.map(model_of, RANKS)):
            with self.subTest(ranks=1, sizes_for=ranks):
                self.assertFalse(wrong, "\n".join(wrong))
            depth = max(sum(letter != "N" for letter in letters) for _, _, letters in model.factors)
            runs += [
                (ranks, factor, self.pool.submit(split, model, whole, ranks, factor)) for factor in range(depth)
            ]
        for ranks, factor, result in runs:
            with self.subTest(ranks=ranks, factor=factor):
                wrong = result.result()
                self.assertFalse(wrong, "\n".join(wrong))

    def test_even(self):
        self.check("even")

    def test_uneven(self):
        self.check("uneven")

    def test_fewer_elements_than_ranks(self):
        self.check("fewer")

    def test_symbolic_and_empty(self):
        self.check("symbolic")

    def test_partial_values(self):
        """What a reduction leaves partial goes through the ops that allow it, and no others."""
        for ranks in RANKS:
            model = self.model(f"partial{ranks}", [partial_cases(Sizes(5, 7, 6, 11))])
            whole, _ = model.run("whole", 1, "factor=999")
            results, said = model.run("split", ranks, "partial")
            with self.subTest(ranks=ranks):
                wrong = against_reference(model, whole) + against_one_rank(model, results, whole)
                self.assertFalse(wrong, "\n".join(wrong))
                verdicts = sorted(line for line in said.splitlines() if line.startswith(("carries ", "refuses ")))
                expected = [
                    f"{'refuses' if 'refused' in case.name.split('.') else 'carries'} {case.name}"
                    for case in model.cases
                ]
                self.assertEqual(verdicts, sorted(expected))

    def test_every_op_has_a_case(self):
        models = [self.model(f"listed.{kind}", [every_case(SIZES[kind](2)[0])]) for kind in ("uneven", "symbolic")]
        used = {op for model in models for _, op, _ in model.factors}
        # Every rank runs a body whole; there is nothing to split (tests/e2e/test_control_flow.py runs them).
        bodies = {"onnx.If", "onnx.Loop"}
        # A decoder becomes these as a whole (tests/e2e/test_rows.py splits it).
        pages = {"onnx.PageWrite", "onnx.PagedAttention", "onnx.PagedAttentionParts", "onnx.MergeAttention"}
        self.assertLessEqual(bodies | pages, models[0].registered)
        for op in sorted(models[0].registered - bodies - pages):
            with self.subTest(op=op):
                self.assertIn(op, used, "it has no case in cases.py")

    def test_factors_that_need_replication(self):
        """verify-phase refuses an op that is split along one."""
        model = self.model("blocked", [every_case(Sizes(5, 7, 11, 13))])
        first = {}
        for name, op, letters in model.factors:
            if "N" in letters and len(letters) > len(first.get(op, ("", []))[1]):
                first[op] = (name, letters)

        def problem(name, factor):
            split = f"--shardc-test-split-factors=blocked={name} factor={factor}"
            try:
                run("shard-opt", model.imported, split, "--shardc-verify-phase=phase=sharded", "-o", os.devnull)
            except RuntimeError as error:
                return str(error)
            return ""

        jobs = [(op, *first[op], factor) for op in first for factor in range(first[op][1].count("N"))]
        problems = self.pool.map(lambda job: problem(job[1], job[3]), jobs)
        for (op, name, _, factor), message in zip(jobs, problems):
            with self.subTest(op=op, case=name, factor=factor):
                self.assertIn("does not satisfy its sharding rule", message)


if __name__ == "__main__":
    unittest.main()
