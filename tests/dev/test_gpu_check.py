"""tools/gpu-check counts what a program of tests says, and what it does not live to say."""

import contextlib
import importlib.util
import io
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

from tests.support import ROOT

PASSES = """
[ RUN      ] Kernels.add
[       OK ] Kernels.add (3 ms)
"""
FAILS = """
[ RUN      ] Backends/Streams.copy/cuda
Streams.cpp:7: Failure
[  FAILED  ] Backends/Streams.copy/cuda, where GetParam() = "cuda" (12 ms)
"""
SKIPS = """
[ RUN      ] Backends/Streams.copy/host
[  SKIPPED ] Backends/Streams.copy/host (0 ms)
"""


class GpuCheck(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, str(ROOT / "tools"))
        self.addCleanup(sys.path.remove, str(ROOT / "tools"))
        loader = SourceFileLoader("gpu_check", str(ROOT / "tools/gpu-check"))
        self.check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
        loader.exec_module(self.check)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_tests(self, text, then="", limit=60):
        (self.folder / "bin").mkdir()
        program = self.folder / "bin/tests"
        program.write_text(f"#!/bin/sh\ncat <<'END'{text}END\n{then}\n")
        program.chmod(0o755)
        tally, said = self.check.Tally(), io.StringIO()
        with contextlib.redirect_stdout(said):
            self.check.run_tests(self.folder, "tests", tally, limit)
        return tally.passed, tally.failed, said.getvalue()

    def test_all_that_end_are_counted(self):
        passed, failed, said = self.run_tests(PASSES + FAILS + SKIPS, "exit 1")
        self.assertEqual((passed, failed), (1, 1))
        self.assertIn("FAIL  Backends/Streams.copy/cuda: \nStreams.cpp:7: Failure", said)
        self.assertIn("skip  Backends/Streams.copy/host", said)

    def test_a_program_that_dies_has_failed(self):
        passed, failed, said = self.run_tests(PASSES + "[ RUN      ] Kernels.sub\nno kernel image\n", "kill -9 $$")
        self.assertEqual((passed, failed), (1, 1))
        self.assertIn("it ended with -9, in Kernels.sub\nno kernel image", said)

    def test_a_test_that_hangs_is_named(self):
        passed, failed, said = self.run_tests(PASSES + "[ RUN      ] Kernels.sub\n", "exec sleep 60", limit=0.5)
        self.assertEqual((passed, failed), (1, 1))
        self.assertIn("FAIL  Kernels.sub: took more than 0.5 s", said)


if __name__ == "__main__":
    unittest.main()
