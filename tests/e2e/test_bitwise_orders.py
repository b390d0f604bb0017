"""--bitwise where values lie, are cut and are rounded in ways that follow from the plan: each case had other bits, or ended, once."""

import shutil
import unittest
from unittest import mock

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.e2e import test_rows
from tests.support import EndToEnd, read_outputs


def value(name, dims, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, dims)


class Orders(EndToEnd):
    def save(self, nodes, given, result, weights, element=TensorProto.FLOAT):
        tensors = [numpy_helper.from_array(numbers, name) for name, numbers in weights.items()]
        graph = helper.make_graph(nodes, "g", [value("x", given, element)], [value("y", result, element)], tensors)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), self.folder / "model.onnx")

    def outputs(self, x, *flags):
        (self.folder / "input").mkdir(exist_ok=True)
        (self.folder / "input/input_0.pb").write_bytes(x.SerializeToString())
        artifact, out = self.folder / "model.shard", self.folder / "out"
        self.run_ok("shardc", self.folder / "model.onnx", "--bitwise", *flags, "-o", artifact)
        self.run_ok("shardrun", artifact, "--inputs", self.folder / "input", "--outputs", out)
        return read_outputs(out)[0]

    def check(self, x, *flags, plans=("--tp 2", "--tp 3")):
        one = self.outputs(x, *flags)
        self.assertTrue(np.isfinite(one.astype(np.float32)).all())
        for plan in plans:
            with self.subTest(flags=flags, plan=plan):
                np.testing.assert_array_equal(self.outputs(x, *flags, *plan.split()), one)

    def numbers(self, *dims):
        return np.random.default_rng(sum(dims)).normal(size=dims).astype(np.float32)

    def test_sums_over_a_transposed_value(self):
        for last in (
            helper.make_node("Softmax", ["t"], ["y"], axis=-1),
            helper.make_node("LayerNormalization", ["t", "scale"], ["y"], axis=-1),
            helper.make_node("ReduceMean", ["t", "axes"], ["y"], keepdims=1),
        ):
            nodes = [helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1]), helper.make_node("Transpose", ["c"], ["t"], perm=[0, 2, 1])]
            weights = {"w": self.numbers(33, 20, 3)}
            weights |= {name: tensor for name, tensor in (("scale", np.ones(33, np.float32)), ("axes", np.array([2]))) if name in last.input}
            self.save([*nodes, last], ["b", 20, "s"], ["b", "s", 1 if last.op_type == "ReduceMean" else 33], weights)
            self.check(numpy_helper.from_array(self.numbers(3, 20, 17)))

    def test_a_phase_goes_on_in_the_same_order(self):
        """Without the flag, too: the text says it."""
        nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 2, 1]), helper.make_node("Softmax", ["t"], ["y"], axis=-1)]
        self.save(nodes, ["b", 20, "s"], ["b", "s", 20], {})
        whole, phase, rest = (self.folder / name for name in ("whole.mlir", "phase.mlir", "rest.mlir"))
        for to, file in (("partitioned", phase), ("lowered", whole)):
            self.run_ok("shardc", self.folder / "model.onnx", "--bitwise", "--to", to, "-o", file)
        self.run_ok("shardc", phase, "--from", "partitioned", "--to", "lowered", "-o", rest)
        self.assertIn("rt.in_order", whole.read_text())
        self.assertEqual(rest.read_text().count("rt.in_order"), whole.read_text().count("rt.in_order"))
        self.assertEqual(rest.read_text().count('rt.call "Copy"'), whole.read_text().count('rt.call "Copy"'))

    def test_matrices_that_are_smaller_than_what_they_multiply(self):
        """A gather of the product would be one of the matrix, in numbers that are no more 8 bits."""
        random, nodes, weights = np.random.default_rng(1), [], {}
        for i, (read, made) in enumerate((("x", "h"), ("h", "y"))):
            weights[f"b{i}"] = random.integers(0, 255, size=(64, 2, 16)).astype(np.uint8)
            weights[f"s{i}"] = (random.normal(size=128) / 30).astype(np.float32)
            nodes.append(helper.make_node("MatMulNBits", [read, f"b{i}", f"s{i}"], [made], domain="com.microsoft",
                                          K=64, N=64, bits=4, block_size=32, accuracy_level=4))  # fmt: skip
        self.save(nodes, [256, 64], [256, 64], weights)
        self.check(numpy_helper.from_array(self.numbers(256, 64)), plans=("--tp 2", "--tp 4", "--fsdp 2"))

    def test_weights_that_begin_within_bytes(self):
        """Gathered ones are as they lie, others were packed: both are multiplied in the types that the flag says."""
        random = np.random.default_rng(6)
        fields = lambda *dims: random.integers(-8, 8, size=dims).astype(ml_dtypes.int4)
        scales = lambda size: (random.random(size) / 30).astype(np.float32)
        nodes = [
            helper.make_node("DequantizeLinear", ["b", "s"], ["numbers"], axis=0),
            helper.make_node("Transpose", ["numbers"], ["turned"], perm=[1, 0]),
            helper.make_node("MatMul", ["x", "turned"], ["h"]),
            helper.make_node("DequantizeLinear", ["c", "t"], ["more"], axis=1),
            helper.make_node("MatMul", ["h", "more"], ["y"]),
        ]
        self.save(nodes, ["rows", 45], ["rows", 39], {"b": fields(66, 45), "s": scales(66), "c": fields(66, 39), "t": scales(39)})
        for compute in ("int8", "bf16"):
            for rows in (1, 20):
                flags = ("--compute", compute)
                self.check(numpy_helper.from_array(self.numbers(rows, 45)), *flags, plans=("--fsdp 2", "--fsdp 3 --tp 2", "--tp 3"))

    def test_panels_of_bfloat16(self):
        """Their scratch is that of tiles."""
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "v"], ["y"])]
        halves = lambda *dims: self.numbers(*dims).astype(ml_dtypes.bfloat16)
        self.save(nodes, ["rows", 45], ["rows", 40], {"w": halves(45, 64), "v": halves(64, 40)}, TensorProto.BFLOAT16)
        for rows in (1, 3, 16):
            self.check(numpy_helper.from_array(halves(rows, 45)), "--weights-type", "fp8", plans=("--tp 3",))


class Prompts(test_rows.Rows):
    """The tokens of a text, in steps of other sizes."""

    def test_how_they_are_cut(self):
        self.use(test_rows.HEADS)
        artifact, found = self.folder / "model.shard", []
        self.run_ok("shardc", self.file, "--bitwise", f"--serve={test_rows.PAGE}", "-o", artifact)
        for cuts in ([9], [4, 5], [8, 1], [1] * 9):
            with mock.patch.object(test_rows, "STEPS", [[(0, count)] for count in cuts] + [[(1, 1), (2, 1)]]):
                shutil.rmtree(self.folder / "requests", ignore_errors=True)
                found.append(self.run_rows(artifact)[0][0])
        for logits in found[1:]:
            np.testing.assert_array_equal(logits, found[0])


def load_tests(loader, tests, pattern):
    """Those of Rows are its own file's."""
    return unittest.TestSuite([loader.loadTestsFromTestCase(Orders), Prompts("test_how_they_are_cut")])
