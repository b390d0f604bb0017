"""--weights copy finds each weight by name, also where a name is not the weight's alone."""
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import BIN


class WeightNames(unittest.TestCase):
    def test_weight_named_like_a_constant(self):
        """A small tensor is stored as "constant"; a matrix of the model may have that very name."""
        rng = np.random.default_rng(0)
        small = rng.integers(-3, 4, 64).astype(np.float32)
        matrix = rng.integers(-3, 4, (64, 64)).astype(np.float32)
        x = rng.integers(-3, 4, (4, 64)).astype(np.float32)
        graph = helper.make_graph(
            [helper.make_node("Add", ["x", "small"], ["sum"]), helper.make_node("MatMul", ["sum", "constant"], ["y"])],
            "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 64])],
            [numpy_helper.from_array(small, "small"), numpy_helper.from_array(matrix, "constant")])
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9),
                      home / "model.onnx")
            data = home / "data"
            data.mkdir()
            (data / "input_0.pb").write_bytes(numpy_helper.from_array(x, "x").SerializeToString())
            (data / "output_0.pb").write_bytes(numpy_helper.from_array((x + small) @ matrix, "y").SerializeToString())
            for command in (["shardc", home / "model.onnx", "--tp", "2", "--weights", "copy", "-o", home / "a.shard"],
                            ["shardrun", home / "a.shard", "--inputs", data, "--expect", data]):
                done = subprocess.run([str(BIN / command[0]), *map(str, command[1:])],
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
