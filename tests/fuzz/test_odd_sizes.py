"""One artifact for any sizes: requests of other sizes than a model's shapes show get what references compute, or an error.

Of a case of tests/fuzz/operators each dim of its inputs has a symbol of its own, and requests differ from the case's in a dim.
What no reference runs must not run here either: it would read beside what there is, or mean something by it.

    python -m tests.fuzz.test_odd_sizes --seeds 0:75 --ops head_layouts       counts, and what differs
"""

import argparse
import sys
import tempfile
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx

from tests.fuzz.operators import FAMILIES, build
from tests.fuzz.operators.case import Draw
from tests.fuzz.test_operators import Verdict, difference, expected, onnxruntime, ranks
from tests.support import BIN, program, read_outputs

SEEDS = 3  # of each family, in a test
REQUESTS = 4  # of a case
# What was found: memory beside an operand was read, an operand was cut, or the compile ended with its own verifier.
FOUND = (("projected_attention", 1), ("projected_attention", 2), ("head_layouts", 1), ("rotary_forms", 3), ("embeddings", 0),
         ("embeddings", 3), ("recurrent", 1), ("product", 8), ("fused", 9), ("fused", 17), ("fused", 21))  # fmt: skip


def with_symbols(case, draw):
    """The case's model, in which most dims of inputs have only a name."""
    model = case.model()
    for number, value in enumerate(model.graph.input):
        shape = value.type.tensor_type.shape
        for axis, dim in enumerate(shape.dim):
            if draw.chance(0.8):
                dim.Clear()
                dim.dim_param = f"d{number}_{axis}"
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return model


def other_request(inputs, draw):
    """The same numbers, in which a dim is shorter or longer."""
    request = dict(inputs)
    wide = [name for name, data in inputs.items() if data.ndim]
    if not wide:
        return None
    name = draw.one(*wide)
    dims = list(inputs[name].shape)
    axis = draw.int(0, len(dims) - 1)
    dims[axis] = max(0, dims[axis] + draw.one(-1, 1, 1, 2))
    elements = inputs[name].ravel() if inputs[name].size else np.zeros(1, inputs[name].dtype)
    request[name] = np.resize(elements, dims)
    return request


def check_request(case, model, request, artifact, folder):
    given, case.inputs = case.inputs, request
    wanted = expected(case, model)
    case.inputs = given
    np.savez(folder / "inputs.npz", **request)
    done = program("shardrun", artifact, "--inputs", folder / "inputs.npz", "--outputs", folder / "out")
    sizes = {name: data.shape for name, data in request.items()}
    if done.returncode in (2, 4) and done.stderr.count("error: ") == 1:
        return Verdict("guarded" if wanted else "refused by all")
    if done.returncode != 0:
        return Verdict("broken", f"{sizes}: shardrun ended with {done.returncode}: {done.stderr[-800:]}")
    if not wanted:
        kind = "without reference" if request is case.inputs else "lenient"
        return Verdict(kind, f"{sizes}: no reference runs it")
    found = read_outputs(folder / "out")
    wrong = {reference: difference(case, found, outputs) for reference, outputs in wanted.items()}
    return Verdict("right") if "" in wrong.values() else Verdict("different", f"{sizes}: {wrong}")


def check(family, seed):
    """Verdicts on the requests of a case."""
    draw = Draw(seed)
    case = build(family, seed)
    if not case.inputs:
        return []
    model = with_symbols(case, draw)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        onnx.save(model, folder / "model.onnx")
        done = program("shardc", folder / "model.onnx", "--tp", ranks(seed), "-o", folder / "m.shard")
        if done.returncode == 3 and "reproducer generated" not in done.stderr:
            return [Verdict("refused", done.stderr.strip())]
        if done.returncode != 0:
            return [Verdict("broken", f"shardc ended with {done.returncode}: {done.stderr[-800:]}")]
        requests = [case.inputs, *(other_request(case.inputs, draw) for _ in range(REQUESTS))]
        return [check_request(case, model, request, folder / "m.shard", folder) for request in requests if request]


@unittest.skipUnless((BIN / "shardc").exists() and (BIN / "shardrun").exists(), "shardc is not built")
@unittest.skipUnless(onnxruntime, "there is no ONNX Runtime")
class OddSizes(unittest.TestCase):
    def test_right_or_refused(self):
        cases = [(name, seed) for name in FAMILIES for seed in range(SEEDS)]
        with ThreadPoolExecutor(2) as pool:
            verdicts = list(pool.map(lambda case: check(*case), cases))
        counts = Counter()
        for (name, seed), found in zip(cases, verdicts):
            for verdict in found:
                counts[verdict.kind] += 1
                with self.subTest(case=f"{name}/{seed}"):
                    self.assertNotIn(verdict.kind, ("broken", "different"), verdict.text)
        self.assertGreater(counts["right"], len(cases), counts)

    def test_what_was_found(self):
        for name, seed in FOUND:
            with self.subTest(case=f"{name}/{seed}"):
                for verdict in check(name, seed):
                    self.assertNotIn(verdict.kind, ("broken", "different", "lenient"), verdict.text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", default=",".join(FAMILIES), help="families, separated by commas")
    parser.add_argument("--seeds", default="0:75", help="A:B, from A to B - 1")
    flags = parser.parse_args()
    first, last = map(int, flags.seeds.split(":"))
    total = Counter()
    for name in flags.ops.split(","):
        with ThreadPoolExecutor(2) as pool:
            verdicts = list(pool.map(lambda seed: check(name, seed), range(first, last)))
        counts = Counter(verdict.kind for found in verdicts for verdict in found)
        total += counts
        print(name, dict(counts), flush=True)
        for seed, found in enumerate(verdicts, first):
            for verdict in found:
                if verdict.kind in ("broken", "different", "lenient"):
                    print(f"  {name}/{seed} {verdict.kind}: {verdict.text}", flush=True)
    print("all", dict(total))
    return 1 if total["broken"] or total["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
