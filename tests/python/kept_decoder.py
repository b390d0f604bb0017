"""The decoder of tests/artifacts, which takes steps of rows: tests of it need no compiler."""

import contextlib
import os
import resource
import unittest
from pathlib import Path

from tests.python import support  # noqa: F401  before what follows
from tests.support import ROOT

import shardrt  # isort: skip

ARTIFACT = ROOT / "tests/artifacts/9/decoder-serve-tp2"
WHOLE = ROOT / "tests/artifacts/9/llama-tp2-pp2"
"""The same kind of model, for requests."""
PROMPT, WORDS = [5, 7, 11], 1024


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


class Kept(unittest.TestCase):
    def opened(self, kind, *arguments, **options):
        """By a class of shardrt, closed at the end."""
        made = kind(*arguments, **options)
        self.addCleanup(made.close)
        return made

    def generator(self, **options):
        return self.opened(shardrt.Generator, ARTIFACT, **options)

    def session(self, artifact=ARTIFACT):
        return self.opened(shardrt.Session, os.fspath(artifact))

    def refuses(self, kind, why, call, *arguments, **options):
        with self.assertRaisesRegex(kind, why) as caught:
            call(*arguments, **options)
        return caught.exception
