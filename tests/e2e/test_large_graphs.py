"""Graphs that are long, or in which many ways lead from one node to another: what only some models have, none may hang
on. Nothing is timed: a test ends, in a small stack, or it does not.
"""

import resource
import subprocess

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support import BIN, EndToEnd, read_outputs

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
STACK = 1 << 20  # bytes; what recursed once a node needed more for 10,000 of them


class Graph:
    def __init__(self, inputs):
        self.inputs, self.nodes, self.constants = inputs, [], []
        self.rng = np.random.default_rng(3)

    def node(self, op, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attributes))
        return self.nodes[-1].output[0]

    def constant(self, values, dtype=np.int64):
        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def product(self, value, width):
        return self.node("MatMul", value, self.constant(self.rng.integers(-1, 2, (width, width)), np.float32))

    def model(self, result):
        inputs = [helper.make_tensor_value_info(*i) for i in self.inputs]
        outputs = [helper.make_tensor_value_info(result, F32, None)]
        graph = helper.make_graph(self.nodes, "graph", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def queries(graph):
    """Scores [1, 2, 6, 6] of inputs q, k, and what ends attention with v."""
    scores = graph.node("MatMul", "q", graph.node("Transpose", "k", perm=[0, 1, 3, 2]))
    return scores, lambda masked: graph.node("MatMul", graph.node("Softmax", masked, axis=-1), "v")


QKV = [(name, F32, [1, 2, 6, 8]) for name in "qkv"]


class LargeGraphs(EndToEnd):
    def compile_in_small_stack(self, model, *flags):
        onnx.save(model, self.folder / "model.onnx")
        done = subprocess.run(
            [str(BIN / "shardc"), str(self.folder / "model.onnx"), "-o", str(self.folder / "a.shard"), *flags],
            capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK)))
        return done.returncode, done.stderr

    def check(self, model, feeds, *flags):
        """Compiles, and computes what ONNX's reference does."""
        code, message = self.compile_in_small_stack(model, *flags)
        self.assertEqual(code, 0, message)
        np.savez(self.folder / "inputs.npz", **feeds)
        self.run_ok("shardrun", self.folder / "a.shard", "--inputs", self.folder / "inputs.npz", "--outputs", self.folder / "out")
        expected = ReferenceEvaluator(model).run(None, feeds)[0]
        np.testing.assert_allclose(read_outputs(self.folder / "out")[0], expected, rtol=1e-4, atol=1e-5)

    def test_index_arithmetic_that_shares_its_operands(self):
        # i = (i + i) - i: 3^40 ways lead to the first one.
        graph = Graph([("x", F32, ["n", 4])])
        size = graph.node("Squeeze", graph.node("Shape", "x", start=0, end=1), graph.constant([0]))
        index = graph.node("Range", graph.constant(0), size, graph.constant(1))
        for _ in range(40):
            index = graph.node("Sub", graph.node("Add", index, index), index)
        model = graph.model(graph.node("Gather", "x", index, axis=0))
        self.check(model, {"x": np.arange(20, dtype=np.float32).reshape(5, 4)})

    def test_conditions_of_a_mask_that_share_their_operands(self):
        graph = Graph([*QKV, ("shown", BOOL, [1, 1, 6, 6])])
        scores, attention = queries(graph)
        shown = "shown"
        for _ in range(60):
            shown = graph.node("And", shown, shown)
        model = graph.model(attention(graph.node("Where", shown, scores, graph.constant(-np.inf, np.float32))))
        feeds = {name: graph.rng.standard_normal((1, 2, 6, 8)).astype(np.float32) for name in "qkv"}
        self.check(model, {**feeds, "shown": np.tril(np.ones((1, 1, 6, 6), bool))})

    def test_negations_of_a_mask(self):
        graph = Graph([*QKV, ("shown", BOOL, [1, 1, 6, 6])])
        scores, attention = queries(graph)
        shown = "shown"
        for _ in range(20000):
            shown = graph.node("Not", shown)
        model = graph.model(attention(graph.node("Where", shown, scores, graph.constant(-np.inf, np.float32))))
        feeds = {name: graph.rng.standard_normal((1, 2, 6, 8)).astype(np.float32) for name in "qkv"}
        self.check(model, {**feeds, "shown": np.tril(np.ones((1, 1, 6, 6), bool))})

    def test_windows_of_a_sequence(self):
        # Whether they are as long as the sequence, any order of bounds of 12 minima might say.
        graph = Graph([("x", F32, [2, "seq", 4])])
        parts = []
        for i in range(12):
            ends = [graph.constant([8 * i]), graph.constant([8 * i + 8]), graph.constant([1])]
            parts.append(graph.node("Relu", graph.node("Slice", "x", *ends)))
        model = graph.model(graph.node("Add", "x", graph.node("Concat", *parts, axis=1)))
        self.check(model, {"x": np.random.default_rng(1).standard_normal((2, 96, 4)).astype(np.float32)})

    def test_message_about_a_long_size(self):
        graph = Graph([("x", F32, ["seq", 4])])
        parts = []
        for i in range(5000):
            ends = [graph.constant([8 * i]), graph.constant([8 * i + 8]), graph.constant([0])]
            parts.append(graph.node("Slice", "x", *ends))
        whole = graph.node("Concat", *parts, axis=0)
        parts = [graph.node("Slice", whole, *[graph.constant([end]) for end in (8 * i, 8 * i + 8, 0)]) for i in range(5000)]
        code, message = self.compile_in_small_stack(graph.model(graph.node("Concat", *parts, axis=0)))
        self.assertEqual(code, 3, message[:2000])
        self.assertIn("tens of thousands of terms", message)
        self.assertLess(len(message), 2000)

    def test_slices_of_a_known_dim(self):
        graph = Graph([("x", F32, [2400, 4])])
        value, parts = graph.product("x", 4), []
        for i in range(300):
            ends = [graph.constant([8 * i]), graph.constant([8 * i + 8]), graph.constant([0])]
            parts.append(graph.node("Relu", graph.node("Slice", value, *ends)))
        model = graph.model(graph.node("Add", value, graph.node("Concat", *parts, axis=0)))
        self.check(model, {"x": graph.rng.integers(-3, 4, (2400, 4)).astype(np.float32)}, "--tp", "2")

    def test_long_sum(self):
        graph = Graph([("x", F32, [2, 4]), ("b", F32, [2, 4])])
        value = graph.product("x", 4)
        for _ in range(10000):
            value = graph.node("Add", value, "b")
        model = graph.model(value)
        self.check(model, {"x": np.ones((2, 4), np.float32), "b": np.full((2, 4), 2.0**-12, np.float32)}, "--tp", "2")

    def test_long_chain_in_stages(self):
        graph = Graph([("x", F32, [2, 4])])
        value = graph.product("x", 4)
        for _ in range(20000):
            value = graph.node("Neg", value)
        self.check(graph.model(graph.product(value, 4)), {"x": np.ones((2, 4), np.float32)}, "--pp", "2")

    def test_weights_that_share_their_operands(self):
        # What a stage's matrices are made of: 2^40 ways lead to the first.
        graph = Graph([("x", F32, [2, 4])])
        matrix = graph.constant(np.eye(4) * 2.0**-40, np.float32)
        for _ in range(40):
            matrix = graph.node("Add", matrix, matrix)
        value = graph.node("Relu", graph.node("MatMul", "x", matrix))
        self.check(graph.model(graph.product(value, 4)), {"x": np.ones((2, 4), np.float32)}, "--pp", "2")

    def test_sizes_that_share_their_operands(self):
        # rows = (rows + 1) floordiv 3 + rows mod 5, and so on: said to be too large, not tried.
        graph = Graph([("x", F32, ["rows", 4])])
        rows = graph.node("Shape", "x", start=0, end=1)
        for _ in range(60):
            rows = graph.node("Add", graph.node("Div", rows, graph.constant([3])), graph.node("Mod", rows, graph.constant([5])))
        shape = graph.node("Concat", rows, graph.constant([4]), axis=0)
        model = graph.model(graph.node("Expand", graph.constant(np.ones((1, 4)), np.float32), shape))
        self.check(model, {"x": np.ones((9, 4), np.float32)})

    def test_sizes_of_the_data_behind_each_other(self):
        # What is computed of an integer that an input says, where a shape needs it.
        graph = Graph([("x", F32, [2, 4]), ("n", I64, [1])])
        rows = "n"
        for _ in range(5000):
            rows = graph.node("Sub", graph.node("Add", rows, graph.constant([2])), graph.constant([2]))
        shape = graph.node("Concat", rows, graph.constant([4]), axis=0)
        model = graph.model(graph.node("Add", graph.node("Reshape", "x", shape), graph.constant([1], np.float32)))
        self.check(model, {"x": np.ones((2, 4), np.float32), "n": np.array([2])})

    def test_functions_that_call_each_other_twice(self):
        functions = [helper.make_function("own", "f0", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])],
                                          [helper.make_opsetid("", 20)])]
        for i in range(1, 40):
            calls = [helper.make_node(f"f{i - 1}", ["a"], ["c"], domain="own"), helper.make_node(f"f{i - 1}", ["c"], ["b"], domain="own")]
            functions.append(helper.make_function("own", f"f{i}", ["a"], ["b"], calls,
                                                  [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)]))
        graph = helper.make_graph([helper.make_node("f39", ["x"], ["y"], domain="own")], "graph",
                                  [helper.make_tensor_value_info("x", F32, [2])], [helper.make_tensor_value_info("y", F32, [2])])
        model = helper.make_model(graph, functions=functions, ir_version=9,
                                  opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("own", 1)])
        code, message = self.compile_in_small_stack(model)
        self.assertEqual(code, 3)
        self.assertIn("functions call each other so often", message)

    def test_sizes_in_a_million_parentheses(self):
        graph = Graph([("x", F32, ["(" * 1000000 + "n" + ")" * 1000000, 4])])
        self.check(graph.model(graph.node("Neg", "x")), {"x": np.ones((3, 4), np.float32)})
