"""Sums over dims that lie behind each other, of which a plan would split some only: whole parts are added once.

What they must compute, NumPy says, of small whole numbers: sums of them are exact.
"""

import numpy as np
import onnx
from onnx import numpy_helper, parser

from tests.support import EndToEnd, read_outputs

SIZE, WIDE = 8, 24
WEIGHTS = {"up": (1, SIZE, WIDE), "down": (2, SIZE + WIDE, SIZE)}

# The input beside what is split: a dense connection.
DENSE = "u = MatMul(x, up) r = Relu(u) both = Concat <axis = 2> (x, r) y = MatMul(both, down)"
# The same behind each other the other way round, with an op between.
SWAPPED = "u = MatMul(x, up) r = Relu(u) both = Concat <axis = 2> (r, x) a = Abs(both) y = MatMul(a, down)"


def numbers(seed, *dims):
    return np.random.default_rng(seed).integers(-2, 3, dims).astype(np.float32)


def model(body):
    made = parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 20]> g (float[b, s, {SIZE}] x) => (float[b, s, {SIZE}] y) {{ {body} }}'
    )
    for name, (seed, *dims) in WEIGHTS.items():
        made.graph.initializer.append(numpy_helper.from_array(numbers(seed, *dims), name))
    return made


class Concatenations(EndToEnd):
    def check(self, body, expected):
        onnx.save(model(body), self.folder / "model.onnx")
        x = numbers(3, 2, 5, SIZE)
        np.savez(self.folder / "x.npz", x=x)
        for plan in ("--tp 2", "--tp 4", "--tp 2 --sp"):
            with self.subTest(plan):
                artifact, out = self.folder / "plan.shard", self.folder / "out"
                self.run_ok("shardc", self.folder / "model.onnx", *plan.split(), "-o", artifact)
                self.run_ok("shardrun", artifact, "--inputs", self.folder / "x.npz", "--outputs", out)
                np.testing.assert_array_equal(read_outputs(out)[0], expected(x))

    def test_dense_connection(self):
        up, down = (numbers(seed, *dims) for seed, *dims in WEIGHTS.values())
        self.check(DENSE, lambda x: np.concatenate([x, np.maximum(x @ up, 0)], axis=2) @ down)

    def test_dense_connection_behind(self):
        up, down = (numbers(seed, *dims) for seed, *dims in WEIGHTS.values())
        self.check(SWAPPED, lambda x: np.abs(np.concatenate([np.maximum(x @ up, 0), x], axis=2)) @ down)
