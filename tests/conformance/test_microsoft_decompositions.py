"""Import compares what replaces an operator of com.microsoft with its definition: all of it, and it finds what is broken."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.conformance.microsoft_cases import DOMAIN, collect
from tests.conformance.microsoft_nodes import PREAMBLE, function
from tests.fuzz.operators import FAMILIES, build
from tests.support import BIN

SEEDS = 12


def infer(functions, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nodes.mlir"
        path.write_text(PREAMBLE + "".join(functions))
        return subprocess.run([BIN / "shard-opt", path, "--shardc-infer-shapes", *flags, "-o", "/dev/null"], capture_output=True, text=True, timeout=300)


def nodes():
    """Every operator with operands that are not known, and weights that are."""
    for case in collect():
        yield case.node, case.inputs | case.weights, case.inputs, case.node.output
    for name in FAMILIES:
        for seed in range(SEEDS):
            case = build(name, seed)
            if len(case.nodes) == 1 and case.nodes[0].domain == DOMAIN:
                yield case.nodes[0], case.inputs | case.weights, case.inputs, case.outputs


@unittest.skipUnless((BIN / "shard-opt").exists(), "shard-opt is not built")
class Decompositions(unittest.TestCase):
    def test_none_is_believed_or_wrong(self):
        done = infer(function(f"f{i}", *node) for i, node in enumerate(nodes()))
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])
        self.assertNotIn("was not compared", done.stderr)

    def test_broken_ones_are_found(self):
        """One of some nodes at least: that of one key has no use for a scale."""
        all_nodes = {}
        for node in nodes():
            all_nodes.setdefault(node[0].op_type, []).append(node)
        for op, some in all_nodes.items():
            with self.subTest(op=op):
                done = infer([function(f"f{i}", *node) for i, node in enumerate(some[:6])], f"--shardc-test-break-recovery=microsoft.{op}")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("would be replaced by ops that compute something else", done.stderr)
                self.assertIn("by the op's definition", done.stderr)
