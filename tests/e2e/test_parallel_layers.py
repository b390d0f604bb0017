"""Attention and MLP side by side, as in GPT-J, NeoX, Falcon and Phi: one collective a layer, and the same numbers."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.graphs import GraphBuilder
from tests.support import EndToEnd, read_outputs

LAYERS, HEADS, SIZE = 3, 4, 8
HIDDEN = HEADS * SIZE


def model(residual_between):
    """y = x + attention(x) + mlp(x) in each layer; the residual is added last, or in between."""
    graph = GraphBuilder(seed=4)
    weight, node = graph.weight, graph.node

    graph.constant("split", [0, 0, HEADS, SIZE])
    graph.constant("merged", [0, 0, HIDDEN])
    x = "x"
    for layer in range(LAYERS):
        name = lambda part, layer=layer: f"l{layer}.{part}"
        norm = node("LayerNormalization", [x, weight(name("scale"), HIDDEN), weight(name("shift"), HIDDEN)], name("n"))

        def heads(which, perm, name=name, norm=norm):
            flat = node("MatMul", [norm, weight(name("w" + which), HIDDEN, HIDDEN)], name(which))
            return node("Transpose", [node("Reshape", [flat, "split"], name(which + "s"))], name(which + "t"), perm=perm)

        scores = node("MatMul", [heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1])], name("scores"))
        mixed = node("MatMul", [node("Softmax", [scores], name("p"), axis=-1), heads("v", [0, 2, 1, 3])], name("mixed"))
        rows = node("Reshape", [node("Transpose", [mixed], name("mt"), perm=[0, 2, 1, 3]), "merged"], name("rows"))
        out = node("MatMul", [rows, weight(name("wo"), HIDDEN, HIDDEN)], name("o"))
        attention = node("Add", [weight(name("bo"), HIDDEN), out], name("ob"))
        up = node("Relu", [node("MatMul", [norm, weight(name("up"), HIDDEN, 4 * HIDDEN)], name("u"))], name("a"))
        down = node("MatMul", [up, weight(name("down"), 4 * HIDDEN, HIDDEN)], name("d"))
        mlp = node("Add", [down, weight(name("bd"), HIDDEN)], name("db"))
        if residual_between:
            x = node("Add", [node("Add", [x, attention], name("xa")), mlp], name("y"))
        else:
            x = node("Add", [node("Add", [attention, mlp], name("sum")), x], name("y"))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", "seq", HIDDEN])
    return graph.model([value("x")], [value(x)])


class ParallelLayers(EndToEnd):
    def test_one_collective_a_layer(self):
        x = np.random.default_rng(1).standard_normal((2, 5, HIDDEN)).astype(np.float32)
        np.savez(self.folder / "x.npz", x=x)
        for residual_between in (False, True):
            file = self.folder / f"model{residual_between}.onnx"
            onnx.save(model(residual_between), file)
            expected = ReferenceEvaluator(str(file)).run(None, {"x": x})
            for plan in ("--tp 2", "--tp 4", "--tp 3", "--cp 2 --tp 2", "--tp 2 --sp"):
                with self.subTest(plan, residual_between=residual_between):
                    report = self.folder / "report.json"
                    artifact, out = self.folder / "plan.shard", self.folder / "out"
                    self.run_ok("shardc", file, *plan.split(), "-o", artifact, "--explain-json", report)
                    kinds = [entry["kind"] for entry in json.loads(report.read_text())["collectives"]]
                    sums = [kind for kind in kinds if kind in ("all_reduce", "reduce_scatter")]
                    twice = residual_between and "--sp" in plan  # adding the residual once would take a gather
                    self.assertEqual(len(sums), 2 * LAYERS if twice else LAYERS, kinds)
                    self.run_ok(
                        "shardrun", artifact, "--inputs", self.folder / "x.npz", "--outputs", out, "--check-replicas"
                    )
                    np.testing.assert_allclose(read_outputs(out)[0], expected[0], rtol=1e-4, atol=1e-5)
