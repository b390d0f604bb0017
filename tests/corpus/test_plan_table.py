"""The table of plans is what the compiler plans; it says where a change made a plan worse."""

import unittest

from tests.corpus.plan_table import CORPUS, TABLE, table


@unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
class PlanTable(unittest.TestCase):
    maxDiff = None

    def test_it_is_true(self):
        self.assertEqual(TABLE.read_text(), table(), "run tests/corpus/plan_table.py and look at what changed")
