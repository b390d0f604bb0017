"""What import recovers computes what the exporter spelled, and what only resembles it stays what it is.

`python -m tests.fuzz.spellings --seeds A:B` runs more, or one again.
"""

import os
import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.spellings.check import BATCH, Report, check
from tests.support import BIN

SEEDS = 300
RECOVERED = {"Attention", "Gelu", "LayerNormalization", "MixtureOfExperts", "RMSNormalization", "RotaryEmbedding", "Swish"}


@unittest.skipUnless((BIN / "shardc").exists() and (BIN / "shardrun").exists(), "shardc is not built")
class Spellings(unittest.TestCase):
    def test_against_reference(self):
        batches = [list(range(first, min(first + BATCH, SEEDS))) for first in range(0, SEEDS, BATCH)]
        report = Report()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for found in pool.map(check, batches):
                report.add(found)
        for failure in report.failures:
            with self.subTest(again=f"python -m tests.fuzz.spellings --seeds {failure.seed} --keep DIR"):
                self.fail(failure.text)
        self.assertEqual(set(report.structures), RECOVERED)
        self.assertLess(report.refused, len(batches) // 4, "too many plans that no model admits")


if __name__ == "__main__":
    unittest.main()
