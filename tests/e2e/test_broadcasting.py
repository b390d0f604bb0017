"""Sizes that nothing in a model relates broadcast as ONNX says: equal, or one of them 1."""

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.graphs import GraphBuilder
from tests.support import EndToEnd, program, read_outputs

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


class Broadcasting(EndToEnd):
    def check(self, graph, inputs, shapes, output="y", tps=(1, 2), more=None):
        """The graph computes at each of the shapes of its inputs what ONNX's reference does."""
        values = [helper.make_tensor_value_info(name, *of) for name, of in inputs.items()]
        model = graph.model(values, [helper.make_tensor_value_info(output, FLOAT, None)])
        file, data, outputs = self.folder / "model.onnx", self.folder / "in.npz", self.folder / "outputs"
        onnx.save(model, file)
        random = np.random.default_rng(1)
        for tp in tps:
            artifact = self.compile(file, tp, to=f"tp{tp}.shard")
            for dims in shapes:
                given = {name: random.standard_normal(shape).astype(np.float32) for name, shape in zip(inputs, dims, strict=True)}
                for name, (kind, _) in inputs.items():
                    given[name] = given[name] > 0 if kind == BOOL else given[name]
                given |= more or {}
                np.savez(data, **given)
                with self.subTest(tp=tp, dims=dims):
                    self.run_ok("shardrun", artifact, "--inputs", data, "--outputs", outputs, "--check-replicas")
                    (found,) = read_outputs(outputs)
                    (expected,) = ReferenceEvaluator(model).run(None, given)
                    self.assertEqual(found.shape, expected.shape)
                    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        return artifact

    def test_sums(self):
        graph = GraphBuilder(1)
        graph.node("Add", ["a", "b"], "y")
        inputs = {"a": (FLOAT, ["n", "p"]), "b": (FLOAT, ["m", "q"])}
        shapes = [((3, 4), (3, 4)), ((1, 4), (3, 1)), ((3, 4), (1, 4)), ((1, 1), (3, 4)), ((1, 1), (1, 1)), ((0, 1), (1, 2))]
        artifact = self.check(graph, inputs, shapes)
        # What does not broadcast is refused, with its sizes.
        np.savez(self.folder / "in.npz", a=np.zeros((2, 4), np.float32), b=np.zeros((3, 4), np.float32))
        done = program("shardrun", artifact, "--inputs", self.folder / "in.npz")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("dim 0 is 3, expected m = 2", done.stderr)

    def test_choices(self):
        graph = GraphBuilder(1)
        graph.node("Where", ["c", "a", "b"], "y")
        inputs = {"c": (BOOL, ["k"]), "a": (FLOAT, ["n"]), "b": (FLOAT, ["m"])}
        self.check(graph, inputs, [((3,),) * 3, ((1,), (3,), (3,)), ((3,), (1,), (3,)), ((1,), (1,), (4,)), ((4,), (1,), (1,))])

    def test_batches_of_products(self):
        graph = GraphBuilder(1)
        graph.node("MatMul", ["a", "b"], "y")
        inputs = {"a": (FLOAT, ["n", 3, 4]), "b": (FLOAT, ["m", 4, 5])}
        self.check(graph, inputs, [((3, 3, 4), (3, 4, 5)), ((1, 3, 4), (3, 4, 5)), ((3, 3, 4), (1, 4, 5))])

    def test_between_products_that_are_split(self):
        graph = GraphBuilder(1)
        graph.node("MatMul", ["a", graph.weight("w", 8, 16)], "h")
        graph.node("MatMul", ["b", graph.weight("v", 8, 16)], "k")
        graph.node("Add", ["h", "k"], "s")
        graph.node("Relu", ["s"], "r")
        graph.node("MatMul", ["r", graph.weight("u", 16, 8)], "y")
        inputs = {"a": (FLOAT, ["n", "s", 8]), "b": (FLOAT, ["m", "t", 8])}
        shapes = [((3, 2), (3, 2)), ((1, 2), (3, 1)), ((3, 2), (1, 1)), ((1, 3), (3, 3))]
        self.check(graph, inputs, [(a + (8,), b + (8,)) for a, b in shapes], tps=(1, 2, 4))

    def test_shapes_that_are_inputs(self):
        graph = GraphBuilder(1)
        graph.node("Expand", ["a", "shape"], "y")
        inputs = {"a": (FLOAT, ["n", 4]), "shape": (INT64, [2])}
        for dims, shape in (((3, 4), [3, 4]), ((3, 4), [1, 1]), ((1, 4), [3, 4]), ((1, 4), [1, 1])):
            self.check(graph, inputs, [(dims, (2,))], more={"shape": np.array(shape)})
