"""Quantised activations times quantised weights, both of integers of 8 bits: their bytes are multiplied, as ONNX Runtime's
quantize_static leaves models in QDQ form."""

import itertools
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support import EndToEnd, read_outputs

SIZE, WIDE = 64, 288  # scales and zero points of columns are weights, not constants
TYPES = {TensorProto.UINT8: np.uint8, TensorProto.INT8: np.int8}


def model(activations, weights, saturates):
    """An MLP: MatMul with a scale and a zero point for each column, Relu, and Gemm with a transposed weight, one scale and a
    bias. Who reads the second activation beside the product gets its numbers."""
    rng = np.random.default_rng(5)
    nodes, tensors = [], []

    def tensor(name, value):
        tensors.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def activation(name, scale, zero):
        limits = np.iinfo(TYPES[activations])
        inputs = [tensor(f"{name}_scale", np.float32(scale / (100 if saturates else 1))),
                  tensor(f"{name}_zero", TYPES[activations](limits.min + zero))]  # fmt: skip
        return node("DequantizeLinear", [node("QuantizeLinear", [name, *inputs], f"{name}_q"), *inputs], f"{name}_d")

    def weight(name, dims, columns, **attributes):
        limits = np.iinfo(TYPES[weights])
        values = rng.integers(limits.min, limits.max + 1, dims).astype(TYPES[weights])
        zeros = rng.integers(limits.min, limits.max + 1, columns).astype(TYPES[weights])
        inputs = [tensor(name, values), tensor(f"{name}_scale", rng.uniform(1e-3, 2e-3, columns).astype(np.float32)), tensor(f"{name}_zero", zeros)]
        return node("DequantizeLinear", inputs, f"{name}_d", **attributes)

    node("MatMul", [activation("x", 0.03, 110), weight("up", (SIZE, WIDE), (WIDE,), axis=1)], "a")
    node("Relu", ["a"], "h")
    node("Gemm", [activation("h", 0.02, 0), weight("down", (SIZE, WIDE), ()), tensor("bias", rng.standard_normal(SIZE).astype(np.float32))], "y", transB=1)
    node("ReduceSum", ["h_d", tensor("axes", np.array([1]))], "z", keepdims=1)
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "quantized", [value("x", TensorProto.FLOAT, ["rows", SIZE])],
                              [value("y", TensorProto.FLOAT, ["rows", SIZE]), value("z", TensorProto.FLOAT, ["rows", 1])], tensors)  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class QuantizedActivations(EndToEnd):
    def check(self, *types, ways=(1, 2, 3), flags=()):
        made = model(*types)
        file = self.folder / "model.onnx"
        onnx.save(made, file)
        for tp in ways:  # the columns of the first product are split, and the rows of the second
            artifact = self.compile(file, tp, *flags, to=f"tp{tp}")
            for rows in (1, 12, 33):
                with self.subTest(types=types, tp=tp, rows=rows):
                    x = np.random.default_rng(rows).standard_normal((rows, SIZE)).astype(np.float32)
                    self.assert_near(self.execute(artifact, x), ReferenceEvaluator(made).run(None, {"x": x}))

    def execute(self, artifact, x):
        data, out = self.folder / "data", self.folder / "outputs"
        data.mkdir(exist_ok=True)
        onnx.save_tensor(numpy_helper.from_array(x, "x"), data / "input_0.pb")
        self.run_ok("shardrun", artifact, "--inputs", data, "--outputs", out)
        return read_outputs(out)

    def assert_near(self, found, expected):
        """All but few: a sum that lies between two bytes may become either, which moves a row of results a little."""
        self.assertEqual(len(found), 2)
        for a, b in zip(found, expected, strict=True):
            difference, largest = np.abs(a - b), np.abs(b).max()
            self.assertGreater(largest, 0)
            self.assertLess(np.median(difference), 1e-5 * largest)
            self.assertLess(difference.max(), 0.01 * largest)

    def test_both_products_are_of_bytes(self):
        file = self.folder / "model.onnx"
        onnx.save(model(TensorProto.UINT8, TensorProto.INT8, False), file)
        for tp in (1, 2):
            lowered = self.run_ok("shardc", file, "--tp", tp, "--to=lowered")
            self.assertEqual(lowered.count('rt.call "MatMulQuantized"'), 2)
            self.assertEqual(lowered.count('rt.call "MatMulDequantized"'), 0)
            bitwise = self.run_ok("shardc", file, "--tp", tp, "--bitwise", "--to=lowered")
            self.assertEqual(bitwise.count('rt.call "MatMulQuantized"'), 0)

    def test_all_types_and_saturation(self):
        for types in itertools.product(TYPES, TYPES, (False, True)):
            self.check(*types)

    def test_activations_in_fewer_bits_stay_exact(self):
        for compute in ("bf16", "int8"):
            self.check(TensorProto.UINT8, TensorProto.INT8, False, ways=(2,), flags=("--compute", compute))


if __name__ == "__main__":
    unittest.main()
