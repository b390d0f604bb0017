"""Requests for which there is no room end with an error that says so, and what comes behind them runs as before."""

import os
import re
import unittest
from unittest import mock

from tests.python.kept_decoder import ARTIFACT, PROMPT, Kept, little_memory

import shardrt  # isort: skip
from shardrt._room import check_room  # isort: skip


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
        why = (rf"^2 ranks, rank 0 \(tp 0\) among them, need \d+ bytes on device 0 \(host.*\), which has \d+ free: .* of KV caches of {2**40} "
               r"positions; there would be room for (\d+) positions: ask for fewer$")  # fmt: skip
        error = self.refuses(shardrt.ArtifactError, why, session.pool, 2**40)
        self.refuses(shardrt.ArtifactError, why, shardrt.Server, session, positions=2**40)
        self.assertEqual(self.opened(session.pool, 128).pages, 2)
        room = int(re.match(why, str(error))[1])
        check_room(session, room)
        self.refuses(shardrt.ArtifactError, f"room for {room} positions", check_room, session, room + 1)

    def test_nothing_is_loaded(self):
        """What a limit says of the host holds of a server's pool as well, before weights come."""
        with mock.patch.dict(os.environ, {"SHARDC_HOST_MEMORY": "100M"}):
            came = []
            self.refuses(shardrt.ArtifactError, r"need \d+ bytes on device 0 .* of KV caches.*there would be room for \d+ positions", shardrt.Server,
                         ARTIFACT, positions=10_000_000, progress=lambda loaded, of: came.append(loaded))  # fmt: skip
            self.assertEqual(came, [])
            session = self.session()
            self.refuses(shardrt.ArtifactError, "which has 100000000 free|which has 104857600 free", session.pool, 10_000_000)
            self.assertEqual(self.opened(session.pool, 128).pages, 2)


if __name__ == "__main__":
    unittest.main()
