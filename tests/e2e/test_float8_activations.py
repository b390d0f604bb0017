"""Quantised activations times quantised weights, both of eight bits of float: their bytes are multiplied."""

import os
import subprocess
import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import BIN, BUILD, EndToEnd, read_outputs

PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
SIZE, WIDE = 64, 288  # scales and zero points of columns are weights, not constants
E4M3 = TensorProto.FLOAT8E4M3FN
FLOATS = {TensorProto.FLOAT: np.float32, TensorProto.FLOAT16: np.float16, TensorProto.BFLOAT16: ml_dtypes.bfloat16}


def as_float8(numbers):
    """To the nearest, at most 448."""
    return np.clip(numbers, -448, 448).astype(ml_dtypes.float8_e4m3fn)


class Model:
    """An MLP as exporters quantise it: MatMul with a scale for each column, Gelu's place taken by Relu, and Gemm with a
    transposed weight, one scale and a bias; each operand with a zero point that names its type."""

    def __init__(self, element):
        self.element, self.dtype = element, FLOATS[element]
        rng = np.random.default_rng(5)
        self.scale = {"x": self.dtype(0.02), "h": self.dtype(0.5)}
        self.up = as_float8(16 * rng.standard_normal((SIZE, WIDE)))
        self.up_scale = rng.uniform(0.01, 0.02, WIDE).astype(self.dtype)
        self.down = as_float8(16 * rng.standard_normal((SIZE, WIDE)))
        self.down_scale = self.dtype(0.015)
        self.bias = rng.standard_normal(SIZE).astype(self.dtype)

    def save(self, file):
        nodes, tensors = [], []

        def tensor(name, value, number=self.element):
            value = np.asarray(value)
            tensors.append(helper.make_tensor(name, number, value.shape, value.tobytes(), raw=True))
            return name

        def node(op, inputs, output, **attributes):
            nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
            return output

        def activation(name):
            inputs = [tensor(f"{name}_scale", self.scale[name]), tensor(f"{name}_zero", as_float8(0), E4M3)]
            return node("DequantizeLinear", [node("QuantizeLinear", [name, *inputs], f"{name}_q"), *inputs], f"{name}_d")

        up = [tensor("up", self.up, E4M3), tensor("up_scale", self.up_scale), tensor("up_zero", as_float8(np.zeros(WIDE)), E4M3)]
        down = [tensor("down", self.down, E4M3), tensor("down_scale", self.down_scale), tensor("down_zero", as_float8(0), E4M3)]
        node("Relu", [node("MatMul", [activation("x"), node("DequantizeLinear", up, "up_d", axis=1)], "a")], "h")
        node("Gemm", [activation("h"), node("DequantizeLinear", down, "down_d"), tensor("bias", self.bias)], "y", transB=1)
        value = helper.make_tensor_value_info
        graph = helper.make_graph(nodes, "float8", [value("x", self.element, ["rows", SIZE])],
                                  [value("y", self.element, ["rows", SIZE])], tensors)  # fmt: skip
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), file)

    def numbers(self, name, values):
        """After QuantizeLinear and DequantizeLinear."""
        scale = np.float64(self.scale[name])
        return as_float8(values.astype(np.float32) / np.float32(scale)).astype(np.float64) * scale

    def run(self, x):
        """In float64, but where the model rounds to bytes."""
        up = self.up.astype(np.float64) * self.up_scale.astype(np.float64)
        hidden = np.maximum(self.numbers("x", x) @ up, 0)
        down = self.down.astype(np.float64) * np.float64(self.down_scale)
        return self.numbers("h", hidden) @ down.T + self.bias.astype(np.float64)


class Float8Activations(EndToEnd):
    def check(self, element, device, *flags, **environment):
        model = Model(element)
        file = self.folder / "model.onnx"
        model.save(file)
        for tp in (1, 2, 3):  # the columns of the first product are split, and the rows of the second
            artifact = self.compile(file, tp, *flags, to=f"tp{tp}")
            for rows in (1, 12, 33):
                with self.subTest(tp=tp, rows=rows):
                    x = np.random.default_rng(rows).standard_normal((rows, SIZE)).astype(model.dtype)
                    self.assert_near(self.execute_on(device, artifact, x, element, environment), model.run(x), element)

    def execute_on(self, device, artifact, x, element, environment):
        data, out = self.folder / "data", self.folder / "outputs"
        data.mkdir(exist_ok=True)
        onnx.save_tensor(helper.make_tensor("x", element, x.shape, x.tobytes(), raw=True), data / "input_0.pb")
        command = [BIN / "shardrun", artifact, "--device", device, "--inputs", data, "--outputs", out]
        done = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=300,
                              env=os.environ | environment)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("runs on the host", done.stderr)
        return read_outputs(out)[0].astype(np.float64)

    def assert_near(self, found, expected, element):
        """All but few: a sum that lies between two bytes may become either, which moves a row of results a little."""
        difference = np.abs(found - expected)
        limit = {TensorProto.FLOAT: 1e-4, TensorProto.FLOAT16: 0.02, TensorProto.BFLOAT16: 0.15}[element]
        self.assertLess(np.median(difference), limit)
        self.assertLess(difference.max(), 0.05 * np.abs(expected).max())

    def lowered(self, element, tp, target):
        file = self.folder / "model.onnx"
        Model(element).save(file)
        return self.run_ok("shardc", file, "--tp", tp, "--target", target, "--to=lowered")

    def test_both_products_are_of_bytes(self):
        for target in ("host", "cuda"):
            for tp in (1, 2):
                lowered = self.lowered(TensorProto.FLOAT16, tp, target)
                self.assertEqual(lowered.count('rt.call "MatMulFloat8"'), 2)
                for other in ("DequantizeLinear", "MatMulDequantized", "MatMul", "Gemm"):
                    self.assertNotIn(f'rt.call "{other}"', lowered)

    def test_a_gpu_has_weights_along_the_sum(self):
        self.assertIn('"Copy"', self.lowered(TensorProto.FLOAT, 1, "cuda").split("rt.ready")[0])
        self.assertNotIn('"Copy"', self.lowered(TensorProto.FLOAT, 1, "host"))

    def test_the_host_multiplies_them(self):
        for element in FLOATS:
            self.check(element, "host")

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_gpus_multiply_them(self):
        backends = {"SHARDC_BACKENDS": str(PLUGIN.parent)}
        for element in FLOATS:
            self.check(element, "cuda", "--target", "cuda", **backends)
        # Without tensor cores for them.
        self.check(TensorProto.FLOAT16, "cuda", "--target", "cuda", SHARDC_SIMULATED_CAPABILITY="80", **backends)


if __name__ == "__main__":
    unittest.main()
