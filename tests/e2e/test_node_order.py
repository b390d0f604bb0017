"""Files whose nodes are in no topological order, as tools write them that append what they insert."""

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from tests.support import EndToEnd, program

GRAPH = """<ir_version: 9, opset_import: ["" : 20]> g (float[n, 8] x) => (float[n, 8] y) {
    u = MatMul(x, up) a = Relu(u) d = MatMul(a, down)
    s = ReduceSum <keepdims = 0> (d) zero = Constant <value_float = 0.0> () c = Greater(s, zero)
    h = Neg(d)
    b = If (c) <
      then_branch = then () => (float[n, 8] t) { m = Mul(h, h) t = Add(m, d) },
      else_branch = else () => (float[n, 8] e) { e = Identity(h) }
    >
    y = Add(b, x)
}"""


class NodeOrder(EndToEnd):
    def model(self, order):
        made = parser.parse_model(GRAPH)
        numbers = np.random.default_rng(1)
        self.up, self.down = (numbers.integers(-2, 3, dims).astype(np.float32) for dims in ((8, 32), (32, 8)))
        made.graph.initializer.extend([numpy_helper.from_array(self.up, "up"), numpy_helper.from_array(self.down, "down")])
        order(made.graph)
        onnx.save(made, self.folder / "model.onnx")
        return self.folder / "model.onnx"

    def assert_runs(self, order):
        model = self.model(order)
        for sign in (1, -1):  # both branches
            x = sign * np.abs(np.random.default_rng(2).integers(-2, 3, (5, 8))).astype(np.float32)
            d = np.maximum(x @ self.up, 0) @ self.down
            data = self.folder / f"data{sign}"
            data.mkdir(exist_ok=True)
            for name, array in (("input_0", x), ("output_0", (d * d + d if d.sum() > 0 else -d) + x)):
                (data / f"{name}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
            for tp in (1, 2):
                self.execute(self.compile(model, tp), data)

    def test_reversed(self):
        def order(graph):
            for node in graph.node:
                for attribute in node.attribute:
                    if attribute.HasField("g"):
                        attribute.g.node.reverse()
            graph.node.reverse()

        self.assert_runs(order)

    def test_what_a_branch_reads_comes_last(self):
        def order(graph):
            negated = next(node for node in graph.node if node.op_type == "Neg")
            graph.node.append(negated)
            graph.node.remove(negated)

        self.assert_runs(order)

    def test_names_of_a_branch_are_its_own(self):
        """The file is in order, though what comes last gives what a branch calls m, too."""
        self.assert_runs(lambda graph: graph.node.append(helper.make_node("Neg", ["x"], ["m"])))

    def test_a_cycle_is_an_error(self):
        def order(graph):
            graph.node[0].input[0] = "d"

        done = program("shardc", self.model(order), "-o", self.folder / "out.shard")
        self.assertEqual(done.returncode, 3)
        self.assertIn("topologically sorted", done.stderr)
        self.assertFalse((self.folder / "out.shard").exists())
