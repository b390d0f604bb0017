"""The set-up: everything is there once it ran, and what is missing is said in one line."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def setup(*arguments, **environment):
    command = [ROOT / "tools/dev/setup", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)


class Setup(unittest.TestCase):
    def assert_error(self, done, message):
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"\Aerror: .*{message}.*\n\Z")

    def test_nothing_is_missing(self):
        done = setup("--check")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_programs_need_less(self):
        done = setup("--check", "--programs")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        counts = [re.search(r"all (\d+) are installed", said)[1] for said in (done.stdout, setup("--check").stdout)]
        self.assertGreater(int(counts[0]), 20)
        self.assertLess(int(counts[0]), int(counts[1]))

    def test_says_where_the_onnx_library_is_missing(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assert_error(setup("--check", SHARDC_CACHE_DIR=empty), f"{empty}/onnx-.*: run tools/dev/setup")

    def test_a_check_installs_nothing(self):
        with tempfile.TemporaryDirectory() as empty:
            setup("--check", SHARDC_CACHE_DIR=empty)
            self.assertEqual(os.listdir(empty), [])

    def test_rejects_unknown_arguments(self):
        self.assert_error(setup("--force"), "unknown argument '--force'")


if __name__ == "__main__":
    unittest.main()
