"""Requests for which there is no room end with an error that says so, and what comes behind them runs as before."""

import unittest

from tests.python.kept_decoder import PROMPT, Kept, little_memory

import shardrt  # isort: skip


class TooLarge(Kept):
    def test_a_generator_goes_on(self):
        generator = self.generator()
        expected = generator.generate([PROMPT], max_tokens=3)[0].ids
        with little_memory():
            with self.assertRaisesRegex(shardrt.ArtifactError, "out of memory"):
                generator.generate([PROMPT], max_tokens=40_000_000)
            self.assertEqual(generator.generate([PROMPT], max_tokens=3)[0].ids, expected)
        self.assertLess(generator._idle[0].pages, 64)

    def test_pools(self):
        session = self.session()
        with little_memory():
            self.refuses(shardrt.ArtifactError, f"^out of memory: positions is {2**40}: ask for fewer$", session.pool, 2**40)
            self.refuses(shardrt.ArtifactError, f"positions is {2**40}: ask for fewer", shardrt.Server, session, positions=2**40)
        self.assertEqual(self.opened(session.pool, 128).pages, 2)


if __name__ == "__main__":
    unittest.main()
