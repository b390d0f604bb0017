"""Nodes of com.microsoft compute what ONNX Runtime computes, on one rank and on more."""

import re

import numpy as np
import onnx

from tests.conformance.microsoft_cases import DOMAIN, collect, to_model, with_expected
from tests.fuzz.operators import FAMILIES, build
from tests.support import ROOT, EndToEnd, program, read_outputs

NOT_ON_A_CPU = {"FusedMatMulActivation"}  # DirectML alone computes it
SEEDS = 25


def difference(case, found):
    """What is wrong; empty if nothing is."""
    for name, a, b in zip(case.node.output, found, case.expected, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{name} is {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
        error = np.abs(a.astype(np.float64) - b.astype(np.float64)).max(initial=0)
        limit = 1e-6 + case.tolerance * np.abs(b).max(initial=0) if b.dtype.kind == "f" else int(case.tolerance)
        if not error <= limit:
            return f"{name} differs by {error}, at most {limit} was expected"
    return ""


class MicrosoftCases(EndToEnd):
    def test_cases(self):
        cases = with_expected(collect())
        model, data = self.folder / "model.onnx", self.folder / "inputs.npz"
        onnx.save(to_model(cases), model)
        np.savez(data, **{name: array for case in cases for name, array in case.inputs.items()})
        for tp in (1, 2, 3):
            artifact, outputs = self.compile(model, tp, to=f"tp{tp}"), self.folder / f"outputs{tp}"
            self.run_ok("shardrun", artifact, "--inputs", data, "--outputs", outputs, "--check-replicas")
            found = iter(read_outputs(outputs))
            for case in cases:
                with self.subTest(case=case.name, tp=tp):
                    self.assertEqual(difference(case, [next(found) for _ in case.expected]), "")

    def test_lengths_whose_number_is_a_symbol(self):
        """[b], [2 * b] or [3 * b + 2]: what they are is known when it runs."""
        cases = {case.name: case for case in with_expected(collect())}
        case = cases["Attention.lengths"]
        name = case.node.input[3]
        made = to_model([case])
        made.graph.initializer.remove(next(w for w in made.graph.initializer if w.name == name))
        made.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT32, ["lengths"]))
        data, outputs = self.folder / "inputs.npz", self.folder / "outputs"
        for tp, batch in ((1, ""), (2, ""), (1, "batch")):
            for value in made.graph.input:
                if batch and value.name != name:
                    value.type.tensor_type.shape.dim[0].dim_param = batch
            onnx.save(made, self.folder / "model.onnx")
            artifact = self.compile(self.folder / "model.onnx", tp)
            for other in (case, cases["Attention.parts"]):
                np.savez(data, **case.inputs, **{name: other.weights[other.node.input[3]]})
                self.run_ok("shardrun", artifact, "--inputs", data, "--outputs", outputs)
                self.assertEqual(difference(other, read_outputs(outputs)), "")
            # Ends of keys, then where queries and keys of each row begin, which padding says already.
            begins = np.concatenate([case.weights[name], np.array([0, 3, 6, 0, 5, 9], np.int32)])
            np.savez(data, **case.inputs, **{name: begins})
            self.run_ok("shardrun", artifact, "--inputs", data, "--outputs", outputs)
            self.assertEqual(difference(case, read_outputs(outputs)), "")
            np.savez(data, **case.inputs, **{name: np.array([5, 3, 1], np.int32)})
            done = program("shardrun", artifact, "--inputs", data)
            expected = "batch, batch * 2 or batch * 3 + 2" if batch else "2, 4 or 8"
            self.assertIn(f"a mask of lengths numbers, expected {expected}", done.stderr)

    def test_each_op_is_compared(self):
        """What an op is replaced by was recorded here, or is drawn at random in tests/fuzz/operators."""
        files = (ROOT / "dialects/onnx/ops/microsoft").glob("*.td")
        ops = {op for file in files for op in re.findall(r"^def Onnx_Microsoft(\w+)Op\b", file.read_text(), re.M)}
        self.assertGreater(len(ops), 35)
        compared = {case.node.op_type for case in collect()}
        for name in ("activation", "blocks", "fused", "group_query", "layout", "multi_head", "norm", "pool", "q_linear", "views"):
            for seed in range(SEEDS if name in FAMILIES else 0):
                compared |= {node.op_type for node in build(name, seed).nodes if node.domain == DOMAIN}
        self.assertEqual(ops - compared - NOT_ON_A_CPU, set())
