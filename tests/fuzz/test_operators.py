"""Operators with random attributes compute what independent references compute, or are refused.

A case is right if onnx.reference or ONNX Runtime (where it is installed) says the same: each has deviations of its own.

    python -m tests.fuzz.test_operators --seeds 0:75 --ops resize,conv        counts, and what differs
"""

import argparse
import contextlib
import io
import sys
import tempfile
import unittest
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tests.fuzz.operators import FAMILIES, build
from tests.support import BIN, program, read_outputs

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

SEEDS = 6  # of each family, in a test


def by_onnx(case, model):
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return ReferenceEvaluator(model).run(None, case.inputs)


def by_ort(case, model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, case.inputs)


def expected(case, model):
    """What each reference says that can run the case."""
    found = {}
    for name in case.references:
        if name == "ort" and onnxruntime is None:
            continue
        try:
            found[name] = [np.asarray(x) for x in {"onnx": by_onnx, "ort": by_ort}[name](case, model)]
        except Exception:  # whatever a reference cannot run
            continue
    return found


def difference(case, found, wanted):
    """What is wrong; empty if nothing is."""
    for name, a, b in zip(case.outputs, found, wanted, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{name} is {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        if a.dtype.kind in "biu":
            errors = np.abs(a.astype(np.int64) - b.astype(np.int64))
            limit = case.steps
        else:
            a, b = a.astype(np.float64), b.astype(np.float64)
            errors = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
            limit = 1e-6 + case.tolerance * np.abs(b[np.isfinite(b)]).max(initial=0)
        if errors.size and not errors.max() <= limit:
            return f"{name} differs by {errors.max()}"
    return ""


class Verdict:
    def __init__(self, kind, text=""):
        self.kind, self.text = kind, text


def check(case, tp):
    """One case: right, refused (by shardc), guarded (by shardrun), without reference, different or broken."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model = case.model()
        onnx.save(model, folder / "model.onnx")
        np.savez(folder / "inputs.npz", **case.inputs)
        wanted = expected(case, model)
        done = program("shardc", folder / "model.onnx", "--tp", tp, "-o", folder / "m.shard")
        if done.returncode == 3 and "reproducer generated" not in done.stderr:
            return Verdict("refused", done.stderr.strip())
        if done.returncode != 0:
            return Verdict("broken", f"shardc ended with {done.returncode}: {done.stderr[-800:]}")
        done = program("shardrun", folder / "m.shard", "--inputs", folder / "inputs.npz", "--outputs", folder / "out", "--check-replicas")
        if done.returncode == 4 and "expected" in done.stderr and "no kernel" not in done.stderr:
            return Verdict("guarded", done.stderr.strip())
        if done.returncode != 0:
            return Verdict("broken", f"shardrun ended with {done.returncode}: {done.stderr[-800:]}")
        found = read_outputs(folder / "out")
    if not wanted:
        return Verdict("without reference")
    wrong = {reference: difference(case, found, outputs) for reference, outputs in wanted.items()}
    if "" in wrong.values():
        return Verdict("right")
    return Verdict("different", "; ".join(f"{reference}: {text}" for reference, text in wrong.items()))


def ranks(seed):
    """Cases with products around are split."""
    return 2 if seed % 3 == 2 else 1


@unittest.skipUnless((BIN / "shardc").exists() and (BIN / "shardrun").exists(), "shardc is not built")
class Operators(unittest.TestCase):
    def test_right_or_refused(self):
        cases = [(name, seed) for name in FAMILIES for seed in range(SEEDS)]
        with ThreadPoolExecutor(2) as pool:
            verdicts = list(pool.map(lambda case: check(build(*case), ranks(case[1])), cases))
        for (name, seed), verdict in zip(cases, verdicts):
            with self.subTest(case=f"{name}/{seed}"):
                self.assertNotIn(verdict.kind, ("broken", "different"), verdict.text)
        counts = Counter(verdict.kind for verdict in verdicts)
        # Most cases say something: they are neither refused nor beyond the references.
        self.assertGreater(counts["right"], len(cases) * (0.8 if onnxruntime else 0.5), counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default=",".join(FAMILIES), help="families, separated by commas")
    parser.add_argument("--seeds", default="0:75", help="A:B, from A to B - 1")
    parser.add_argument("--tp", type=int, help="ranks; else 2 for the cases with products around")
    parser.add_argument("--refused", action="store_true", help="print the refusals, too")
    flags = parser.parse_args()
    first, last = map(int, flags.seeds.split(":"))
    shown = {"broken", "different"} | ({"refused", "guarded"} if flags.refused else set())
    total = Counter()
    for name in flags.ops.split(","):
        with ThreadPoolExecutor(2) as pool:
            verdicts = list(pool.map(lambda seed: check(build(name, seed), flags.tp or ranks(seed)), range(first, last)))
        counts = Counter(verdict.kind for verdict in verdicts)
        total += counts
        print(name, dict(counts), flush=True)
        for seed, verdict in enumerate(verdicts, first):
            if verdict.kind in shown:
                print(f"  {name}/{seed} {verdict.kind}: {verdict.text}", flush=True)
    print("all", dict(total))
    return 1 if total["broken"] or total["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
