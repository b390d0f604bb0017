"""An operand of another number of dims than its op takes is compiled or refused with one error, never a crash.

    .venv/bin/python -m tests.fuzz.test_odd_ranks [FIRST COUNT]     more seeds, by hand
"""

import copy
import random
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from tests.conformance.microsoft_cases import collect, to_model, with_expected
from tests.support import BIN

SHARDC = BIN / "shardc"
SEEDS = 200
MOST_DIMS = 5


def node_models():
    """(model, its inputs' arrays, None for what is no array) of ONNX's node tests and of com.microsoft's cases."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = sorted(collect_testcases(None), key=lambda case: case.name)
    models = [
        (case.model, [array if isinstance(array, np.ndarray) else None for array in case.data_sets[0][0]])
        for case in cases
        if case.model and case.data_sets and case.model.graph.input
        if all(value.type.HasField("tensor_type") for value in case.model.graph.input)
    ]
    return models + [microsoft_model(case) for case in with_expected(collect())]


def microsoft_model(case):
    """The same of a case of com.microsoft, whose weights become inputs."""
    model = to_model([case])
    arrays = list(case.inputs.values())
    for weight in model.graph.initializer:
        model.graph.input.append(helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims))
        arrays.append(numpy_helper.to_array(weight))
    del model.graph.initializer[:]
    return model, arrays


def odd_model(model, arrays, rng):
    """A copy in which one input has other dims; some of the inputs are constants."""
    odd = copy.deepcopy(model)
    changed = rng.randrange(len(odd.graph.input))
    element = odd.graph.input[changed].type.tensor_type.elem_type
    sizes = rng.choice([[1], [2], [0, 1, 2, 3, 4, 7], [1, 2, 3, "n", "m"]])
    dims = [rng.choice(sizes) for _ in range(rng.randint(0, MOST_DIMS))]
    odd.graph.input[changed].CopyFrom(helper.make_tensor_value_info(odd.graph.input[changed].name, element, dims))
    arrays = list(arrays)
    if arrays[changed] is not None and all(isinstance(size, int) for size in dims):
        elements = arrays[changed].ravel() if arrays[changed].size else np.zeros(1, arrays[changed].dtype)
        arrays[changed] = np.resize(elements, dims)
    else:
        arrays[changed] = None
    for number in reversed(range(len(odd.graph.input))):
        if arrays[number] is not None and element != TensorProto.STRING and rng.random() < (0.5 if number else 0.2):
            odd.graph.initializer.append(numpy_helper.from_array(arrays[number], odd.graph.input[number].name))
            del odd.graph.input[number]
    for output in odd.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    return odd


def complaint(models, seed, folder, vary):
    """What is wrong with how `vary`'s model of a seed is compiled, or None."""
    rng = random.Random(seed)
    path = Path(folder) / "model.onnx"
    path.write_bytes(vary(*rng.choice(models), rng).SerializeToString())
    done = subprocess.run(
        [SHARDC, path, "--to=partitioned", "--tp=2"], capture_output=True, text=True, timeout=60
    )
    if done.returncode == 0 or (done.returncode in (2, 3) and "error: " in done.stderr):
        return None
    return f"seed {seed}: exit {done.returncode}: {done.stderr[-500:]}"


@unittest.skipUnless(SHARDC.exists(), "shardc is not built")
class OddRanks(unittest.TestCase):
    def test_compiles_or_refuses(self):
        models = node_models()
        with tempfile.TemporaryDirectory() as folder:
            wrong = [c for seed in range(SEEDS) if (c := complaint(models, seed, folder, odd_model))]
        self.assertEqual(wrong, [])


def main(vary):
    first, count = (int(word) for word in sys.argv[1:3] or (0, 10 * SEEDS))
    models = node_models()
    with tempfile.TemporaryDirectory() as folder:
        found = [c for seed in range(first, first + count) if (c := complaint(models, seed, folder, vary))]
    print(*found, f"{count} seeds, {len(found)} wrong", sep="\n")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(odd_model)
