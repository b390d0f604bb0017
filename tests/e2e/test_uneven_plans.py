"""Plans that fit a graph badly: ranks without a part, stages cut where sizes are known to the data alone."""

import numpy as np
import onnx
from onnx import numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from tests.support import EndToEnd, read_outputs

HEADER = '<ir_version: 10, opset_import: ["": 23]>\n'

# Softmax over each of two heads: of three ranks one has no row of the blocks.
BLOCKS = """m (float[n, 8] x) => (float[n, 6] y) {
  a = MatMul(x, up)
  heads = Reshape(a, split)
  soft = Softmax<axis=2>(heads)
  flat = Reshape(soft, merged)
  w = DequantizeLinear<axis=0, block_size=2>(q, scale)
  y = MatMul(flat, w)
}"""

# Two experts as exporters without an op for them write it: each gets the rows that chose it.
CHOSEN = """m (float[n, 8] x) => (float[n, 8] y) {
  router = MatMul(x, gate)
  share, most = TopK<axis=1>(router, one)
  nothing = Mul(x, zero)
  EXPERTS
}"""
EXPERT = """
  is{e} = Equal(most, number{e})
  places{e} = NonZero(is{e})
  rows{e}, _{e} = Split<axis=0, num_outputs=2>(places{e})
  flat{e} = Reshape(rows{e}, any)
  in{e} = Gather<axis=0>(x, flat{e})
  up{e} = MatMul(in{e}, u{e})
  biased{e} = Add(up{e}, b{e})
  on{e} = Relu(biased{e})
  down{e} = MatMul(on{e}, d{e})
  share{e} = Gather<axis=0>(share, flat{e})
  part{e} = Mul(share{e}, down{e})
  column{e} = Reshape(rows{e}, rowOf)
  {out} = ScatterND<reduction="add">({into}, column{e}, part{e})"""


class UnevenPlans(EndToEnd):
    def check(self, text, weights, *plans):
        model = parser.parse_model(HEADER + text)
        model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
        file = self.folder / "model.onnx"
        onnx.save(model, file)
        x = np.random.default_rng(2).standard_normal((7, 8)).astype(np.float32)
        np.savez(self.folder / "x.npz", x=x)
        expected = ReferenceEvaluator(model).run(None, {"x": x})[0]
        for plan in plans:
            with self.subTest(plan):
                artifact, out = self.folder / "model.shard", self.folder / "out"
                self.run_ok("shardc", file, *plan.split(), "-o", artifact)
                self.run_ok("shardrun", artifact, "--inputs", self.folder / "x.npz", "--outputs", out)
                np.testing.assert_allclose(read_outputs(out)[0], expected, rtol=1e-4, atol=1e-5)

    def test_ranks_without_blocks(self):
        r = np.random.default_rng(0)
        self.check(BLOCKS, {
            "up": r.standard_normal((8, 48)).astype(np.float32), "split": np.array([-1, 2, 24]),
            "merged": np.array([-1, 48]), "q": r.integers(-100, 100, (48, 6)).astype(np.int8),
            "scale": r.random((24, 6)).astype(np.float32)}, "--tp 2", "--tp 3", "--tp 5")  # fmt: skip

    def test_stages_with_sizes_that_the_data_know(self):
        """A stage is sent rows whose count it has to be sent, too, though no result of its own is of that size."""
        r = np.random.default_rng(1)
        experts = EXPERT.format(e=0, into="nothing", out="first") + EXPERT.format(e=1, into="first", out="y")
        weights = {"gate": r.standard_normal((8, 2)).astype(np.float32), "zero": np.zeros(1, np.float32), "one": np.array([1]),
                   "any": np.array([-1]), "rowOf": np.array([-1, 1])}  # fmt: skip
        for e in range(2):
            weights[f"number{e}"] = np.array(e)
            weights[f"u{e}"] = r.standard_normal((8, 2)).astype(np.float32)
            weights[f"b{e}"] = r.standard_normal(2).astype(np.float32)
            weights[f"d{e}"] = r.standard_normal((2, 8)).astype(np.float32)
        self.check(CHOSEN.replace("EXPERTS", experts), weights, "--tp 1", *(f"--pp {pp}" for pp in range(2, 6)))
