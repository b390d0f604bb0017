"""Every node test of ONNX computes what ONNX expects, on one rank and split over two in each legal way.

Those that are not supported stand in unsupported.txt with the reason; shardc must refuse them when it compiles. A case
that neither passes nor is listed fails here, and so does a listed one that shardc no longer refuses.

    .venv/bin/python -m unittest tests.conformance.test_node_cases
"""

import tempfile
import unittest
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conformance.node_cases import BIN, Batch, Failure, collect, run

LIST = Path(__file__).with_name("unsupported.txt")
BATCH = 96  # cases in one model
# ONNX Runtime 1.31.1 passes so many of ONNX 1.23.2's on the CPU.
TO_BEAT = 1346
# What transformers are exported to; each case of these passes.
USED = set(
    """Abs Add And ArgMax Attention Cast CastLike Ceil Clip Concat Constant ConstantOfShape Conv Cos CumSum Div Dropout
    Equal Erf Exp Expand Flatten Floor Gather GatherElements GatherND Gelu Gemm Greater GreaterOrEqual Identity IsNaN
    LayerNormalization Less LessOrEqual Log LogSoftmax MatMul Max Min Mod Mul Neg Not Or Pow RMSNormalization Range
    Reciprocal ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Relu Reshape RotaryEmbedding ScatterElements
    ScatterND Shape Sigmoid Sin Slice Softmax Softplus Split Sqrt Squeeze Sub Swish Tanh Tile TopK Transpose Trilu
    Unsqueeze Where Xor""".split()
)

# What no transformer uses of them, or is the fault of another operator beside them.
OTHER_REASONS = (
    "sequences or optionals", "no element type ", "no operator ", "uses opset ", "If has a condition ",
    "Cast to a type ", "Dropout is in training mode",
)  # fmt: skip


def read_list():
    """Reason by case: a line that ends with a colon heads the names of its cases."""
    reasons, reason = {}, ""
    for line in LIST.read_text().splitlines():
        if line.endswith(":") and not line.startswith(" "):
            reason = line[:-1]
        elif line.strip() and not line.startswith("#"):
            for name in line.split():
                if name in reasons:
                    raise ValueError(f"{LIST.name} names {name} twice")
                reasons[name] = reason
    return reasons


def batches_of(cases):
    """Lists of cases that one model can hold: of the same opsets."""
    groups = defaultdict(list)
    for case in cases:
        groups[case.opsets].append(case)
    for group in groups.values():
        count = -(-len(group) // BATCH)
        yield from (group[i::count] for i in range(count))


class Check:
    """Runs batches; one that fails as a whole is halved until the cases are found that fail."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def differing(self, cases, where=""):
        """What is wrong, by case and plan."""
        try:
            batch = Batch(self.folder / f"{cases[0].name}-{len(cases)}{where}", cases)
            return self.on_all_plans(batch)
        except Failure as failure:
            if len(cases) == 1:
                return {cases[0].name: str(failure)}
        middle = len(cases) // 2
        return self.differing(cases[:middle], where + "l") | self.differing(cases[middle:], where + "r")

    @staticmethod
    def on_all_plans(batch):
        plans = [("one rank", 1, None), ("two ranks", 2, None)]
        plans += [(f"split along factor {k}", 2, k) for k in range(batch.import_model())]
        wrong = {}
        for plan, tp, factor in plans:
            outputs = batch.outputs(tp, factor)
            for case in batch.cases:
                if difference := case.difference(outputs[case.name]):
                    wrong.setdefault(case.name, f"{plan}: {difference}")
        return wrong


@unittest.skipUnless((BIN / "shard-opt").exists() and (BIN / "shardrun").exists(), "shardc is not built")
class NodeCases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cases = collect()
        cls.unsupported = read_list()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.pool = ThreadPoolExecutor(2)
        cls.addClassCleanup(cls.pool.shutdown)

    def test_list_holds_known_cases(self):
        self.assertLessEqual(set(self.unsupported), set(self.cases))
        self.assertTrue(all(self.unsupported.values()), "each has a reason")

    def test_more_than_onnx_runtime(self):
        self.assertGreater(len(self.cases) - len(self.unsupported), TO_BEAT)

    def test_ops_of_transformers(self):
        missing = [
            name
            for name, reason in self.unsupported.items()
            if self.cases[name].op in USED and not reason.startswith(OTHER_REASONS)
        ]
        self.assertEqual(missing, [])
        operators = {reason.removeprefix("no operator ") for reason in self.unsupported.values()}
        self.assertEqual(operators & USED, set())

    def test_supported(self):
        cases = [case for case in self.cases.values() if case.name not in self.unsupported]
        for wrong in self.pool.map(Check(self.folder).differing, batches_of(cases)):
            for name, what in wrong.items():
                with self.subTest(case=name):
                    self.fail(what)

    def test_unsupported_are_refused(self):
        def status(name):
            model = self.folder / f"{name}.onnx"
            model.write_bytes(self.cases[name].model.SerializeToString())
            try:
                run("shardc", model, "-o", self.folder / f"{name}.shard")
            except Failure as failure:
                return failure.status, str(failure)
            return 0, f"shardc compiles it: take it out of {LIST.name}"

        for name, (code, why) in zip(self.unsupported, self.pool.map(status, self.unsupported)):
            with self.subTest(case=name):
                self.assertEqual(code, 3, why)


if __name__ == "__main__":
    unittest.main()
