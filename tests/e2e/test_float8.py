"""Weights of eight bits of float: multiplied as they lie, on the host and on a simulated GPU."""

import os
import subprocess
import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support import BIN, BUILD, EndToEnd, read_outputs

PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
SIZE, WIDE, BLOCK = 32, 64, 16
FORMATS = {"e4m3": (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn), "e5m2": (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
           "e4m3fnuz": (TensorProto.FLOAT8E4M3FNUZ, ml_dtypes.float8_e4m3fnuz),
           "e5m2fnuz": (TensorProto.FLOAT8E5M2FNUZ, ml_dtypes.float8_e5m2fnuz)}  # fmt: skip


def model(kind=""):
    """Three products in a row: a scale for all, for each column, and for each block along the sum."""
    rng = np.random.default_rng(5)
    nodes, tensors, x = [], [], "x"
    layers = [("e4m3", (SIZE, WIDE), (), {}),
              ("e5m2", (WIDE, SIZE), (SIZE,), {"axis": 1}),
              ("e4m3", (SIZE, WIDE), (SIZE // BLOCK, WIDE), {"axis": 0, "block_size": BLOCK})]  # fmt: skip
    for n, (name, dims, scales, attributes) in enumerate(layers):
        number, dtype = FORMATS[name + kind]
        weights = (4 * rng.standard_normal(dims)).astype(dtype)
        tensors.append(helper.make_tensor(f"w{n}", number, dims, weights.tobytes(), raw=True))
        tensors.append(numpy_helper.from_array(rng.uniform(0.02, 0.06, scales).astype(np.float32), f"s{n}"))
        nodes.append(helper.make_node("DequantizeLinear", [f"w{n}", f"s{n}"], [f"d{n}"], name=f"d{n}", **attributes))
        nodes.append(helper.make_node("MatMul", [x, f"d{n}"], [f"y{n}"], name=f"y{n}"))
        x = f"y{n}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "float8", [value("x", TensorProto.FLOAT, ["rows", SIZE])],
                              [value(x, TensorProto.FLOAT, ["rows", WIDE])], tensors)  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


class Float8(EndToEnd):
    def save(self, rows):
        """A request of so many rows, and its expected output."""
        data = self.folder / f"rows{rows}"
        data.mkdir()
        x = np.random.default_rng(rows).standard_normal((rows, SIZE)).astype(np.float32)
        onnx.save_tensor(numpy_helper.from_array(x, "x"), data / "input_0.pb")
        return data, ReferenceEvaluator(self.model).run(None, {"x": x})

    def setUp(self):
        super().setUp()
        self.use(model())

    def use(self, given):
        self.model = given
        self.file = self.folder / "model.onnx"
        onnx.save(self.model, self.file)

    def check_runs(self, device, *flags, **environment):
        requests = [self.save(rows) for rows in (1, 3, 12)]
        for tp in (1, 2):
            artifact = self.compile(self.file, tp, *flags, to=f"tp{tp}")
            for data, expected in requests:
                with self.subTest(tp=tp, data=data.name):
                    out = self.folder / "outputs"
                    command = [BIN / "shardrun", artifact, "--device", device, "--inputs", data, "--outputs", out]
                    done = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=300,
                                          env=os.environ | environment)  # fmt: skip
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertNotIn("runs on the host", done.stderr)
                    self.assert_same_numbers(read_outputs(out), expected)

    def test_products_take_weights_as_they_lie(self):
        for kind in ("", "fnuz"):
            self.use(model(kind))
            for tp in (1, 2):
                lowered = self.run_ok("shardc", self.file, "--tp", tp, "--to=lowered")
                self.assertEqual(lowered.count('rt.call "MatMulDequantized"'), 3)
                for other in ("DequantizeLinear", "Cast", "MatMul"):
                    self.assertNotIn(f'rt.call "{other}"', lowered)

    def test_the_host_multiplies_them(self):
        self.check_runs("host")

    def test_the_host_multiplies_those_without_negative_zero(self):
        self.use(model("fnuz"))
        self.check_runs("host")

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_gpus_multiply_them(self):
        self.check_runs("cuda", "--target", "cuda", SHARDC_BACKENDS=str(PLUGIN.parent))


if __name__ == "__main__":
    unittest.main()
