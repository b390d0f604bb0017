"""Requests for which there is no room end with an error that says so, and what comes behind them runs as before."""

import contextlib
import resource
import unittest
from pathlib import Path

from tests.python.kept_decoder import PROMPT, Kept

import shardrt  # isort: skip


@contextlib.contextmanager
def little_memory():
    """Of addresses, for what is asked for meanwhile: 4 GB beside those that there are."""
    taken = resource.getpagesize() * int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + (4 << 30), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


class TooLarge(Kept):
    def test_a_generator_goes_on(self):
        generator = self.generator()
        expected = generator.generate([PROMPT], max_tokens=3)[0].ids
        with little_memory():
            with self.assertRaisesRegex(shardrt.ArtifactError, "out of memory"):
                generator.generate([PROMPT], max_tokens=40_000_000)
            self.assertEqual(generator.generate([PROMPT], max_tokens=3)[0].ids, expected)
        self.assertLess(generator._idle[0].pages, 64)


if __name__ == "__main__":
    unittest.main()
