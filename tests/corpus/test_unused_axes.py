"""The list of axes that models cannot use is what the compiler says; a model that leaves or enters it is noticed."""

import unittest

from tests.corpus.plan_table import CORPUS
from tests.corpus.unused_axes import LIST, table


@unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
class UnusedAxes(unittest.TestCase):
    maxDiff = None

    def test_it_is_true(self):
        self.assertEqual(LIST.read_text(), table(), "run tests/corpus/unused_axes.py and look at what changed")
