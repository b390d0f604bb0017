"""Whatever plan is loaded or pinned, the numbers are those of one rank, or the error says what is wrong with it.

`python -m tests.fuzz.plans --seeds A:B` runs more, or one again.
"""

import os
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.plans.check import check
from tests.support import BIN

SEEDS = 64


@unittest.skipUnless((BIN / "shardc").exists() and (BIN / "shardrun").exists(), "shardc is not built")
class Plans(unittest.TestCase):
    def test_right_or_refused(self):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            verdicts = list(pool.map(check, range(SEEDS)))
        for seed, verdict in enumerate(verdicts):
            with self.subTest(again=f"python -m tests.fuzz.plans --seeds {seed} --keep DIR"):
                self.assertNotEqual(verdict.kind, "broken", f"{verdict.about}: {verdict.text}")
        counts = Counter(verdict.kind for verdict in verdicts)
        # Most plans are odd, few are none.
        self.assertGreater(counts["right"], SEEDS / 2, counts)
        self.assertGreater(counts["refused"], 0, counts)


if __name__ == "__main__":
    unittest.main()
