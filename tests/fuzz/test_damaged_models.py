"""A damaged model is imported or rejected with one error; it never crashes the compiler."""

import random
import subprocess
import tempfile
import unittest
from pathlib import Path

from tests.support import BIN, ROOT

SHARDC = BIN / "shardc"
GOOD = (ROOT / "tests/models/bert-ts-op17/model.onnx").read_bytes()
GRAPH = 36000  # bytes before the weights, all of them structure


def damage(rng):
    """A copy that ends early, or with some bytes changed, most of them in the graph."""
    if rng.random() < 0.2:
        return GOOD[: rng.randrange(len(GOOD))]
    data = bytearray(GOOD)
    for _ in range(rng.choice([1, 2, 5, 20, 100])):
        data[rng.randrange(GRAPH if rng.random() < 0.8 else len(data))] = rng.randrange(256)
    return bytes(data)


@unittest.skipUnless(SHARDC.exists(), "shardc is not built")
class DamagedModels(unittest.TestCase):
    def test_accepts_or_rejects(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.onnx"
            for seed in range(60):
                model.write_bytes(damage(random.Random(seed)))
                done = subprocess.run([SHARDC, model, "--to=raw"], capture_output=True, timeout=60)
                with self.subTest(seed=seed):
                    self.assertIn(done.returncode, (0, 3), done.stderr[-500:])
                    self.assertEqual(done.stderr.startswith(b"error: "), done.returncode == 3)


if __name__ == "__main__":
    unittest.main()
