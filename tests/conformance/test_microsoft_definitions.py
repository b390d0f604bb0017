"""What com.microsoft's operators are defined as (dialects/onnx/evaluate/microsoft) is what ONNX Runtime computes.

Import compares each op with what replaces it by these definitions, so neither is right by the other: here they are
evaluated on recorded results, and on random operands and attributes where ONNX Runtime is installed.
"""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

from tests.conformance.microsoft_cases import DOMAIN, collect, with_expected
from tests.conformance.microsoft_nodes import ELEMENTS, PREAMBLE, function
from tests.conformance.test_microsoft_cases import NOT_ON_A_CPU
from tests.conformance.test_microsoft_cases import difference as recorded_difference
from tests.fuzz.operators import FAMILIES, build
from tests.fuzz.test_operators import by_ort, difference, onnxruntime
from tests.support import BIN, ROOT

SEEDS = 40


def evaluate(nodes):
    """Results of each (node, values), by its definition; a text where there are none."""
    text = PREAMBLE + "".join(function(f"f{i}", node, values) for i, (node, values) in enumerate(nodes))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nodes.mlir"
        path.write_text(text)
        done = subprocess.run([BIN / "shard-opt", path, "--shardc-test-evaluate", "-o", "/dev/null"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    found = [[] for _ in nodes]
    for line in done.stdout.splitlines():
        name, text = line.split(": ", 1)
        parts = re.fullmatch(r"(\w+) \[(.*?)\] = \[(.*)\]", text)
        if not parts:
            found[int(name[1:])].append(text)
            continue
        dtype = {v: k for k, v in ELEMENTS.items()}[parts[1]]
        shape = [int(size) for size in parts[2].split(",") if size]
        numbers = np.array([float(x) for x in parts[3].split(",") if x.strip()])
        found[int(name[1:])].append(numbers.reshape(shape).astype(dtype))
    return found


@unittest.skipUnless((BIN / "shard-opt").exists(), "shard-opt is not built")
class Definitions(unittest.TestCase):
    def test_recorded(self):
        cases = with_expected(collect())
        found = evaluate([(case.node, case.inputs | case.weights) for case in cases])
        for case, results in zip(cases, found):
            with self.subTest(case=case.name):
                self.assertFalse([r for r in results if isinstance(r, str)])
                self.assertEqual(recorded_difference(case, results), "")

    @unittest.skipIf(onnxruntime is None, "needs onnxruntime")
    def test_random(self):
        cases, compared = [], 0
        for name in FAMILIES:
            for seed in range(SEEDS):
                case = build(name, seed)
                case.symbols = {}
                nodes = [node for node in case.nodes if node.domain == DOMAIN]
                if len(case.nodes) == 1 and nodes:
                    cases.append(case)
        found = evaluate([(case.nodes[0], case.inputs | case.weights) for case in cases])
        refused = {}
        for case, results in zip(cases, found):
            try:
                expected = [np.asarray(x) for x in by_ort(case, case.model())]
            except Exception as error:  # ONNX Runtime knows fewer forms than its schemas
                refused[case.name] = str(error).splitlines()[0]
                continue
            # What no output names is not compared.
            results = [results[list(case.nodes[0].output).index(name)] for name in case.outputs]
            with self.subTest(case=case.name, node=case.nodes[0]):
                self.assertFalse([r for r in results if isinstance(r, str)])
                self.assertEqual(difference(case, results, expected), "")
            compared += 1
        self.assertGreater(compared, 0.7 * len(cases), refused)

    def test_each_op_has_one(self):
        files = (ROOT / "dialects/onnx/ops/microsoft").glob("*.td")
        ops = {op for file in files for op in re.findall(r"^def Onnx_Microsoft(\w+)Op\b", file.read_text(), re.M)}
        compared = {case.node.op_type for case in collect()}
        for name in FAMILIES:
            for seed in range(SEEDS):
                compared |= {node.op_type for node in build(name, seed).nodes if node.domain == DOMAIN}
        self.assertEqual(ops - compared - NOT_ON_A_CPU, set())
