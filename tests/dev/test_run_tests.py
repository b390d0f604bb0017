"""What the test command adds up: every runner's own count, and nothing that was skipped."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/dev"))
from run_tests import Count, Result, checked, count_junit, count_lit, run_counted, run_fuzzer, skip_lines  # noqa: E402


class Counting(unittest.TestCase):
    def test_ctest(self):
        report = """<testsuite>
          <testcase name="a" status="run"/>
          <testcase name="b" status="fail"><failure message=""/></testcase>
          <testcase name="c" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
            <system-out>[ RUN      ] A.c&#10;ATest.cpp:7: Skipped&#10;no GPU&#10;</system-out></testcase>
          <testcase name="d" status="disabled"/>
          <testcase name="e" status="notrun"><skipped message="Unable to find executable"/></testcase>
        </testsuite>"""
        self.assertEqual(count_junit(report), Count(1, 2, ["b", "e"], [("c", "no GPU"), ("d", "disabled")]))

    def test_lit(self):
        codes = ["PASS", "XFAIL", "FAIL", "XPASS", "TIMEOUT", "UNRESOLVED", "UNSUPPORTED"]
        report = json.dumps({"tests": [{"name": code, "code": code} for code in codes]})
        self.assertEqual(count_lit(report), Count(2, 4, ["FAIL", "XPASS", "TIMEOUT", "UNRESOLVED"], [("UNSUPPORTED", "unsupported")]))

    def test_python(self):
        class Sample(unittest.TestCase):
            def test_passes(self):
                pass

            def test_fails_twice(self):
                for k in range(2):
                    with self.subTest(k=k):
                        self.fail()

            def test_is_skipped(self):
                self.skipTest("for the sample")

        class Broken(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                raise RuntimeError

            def test_never_runs(self):
                pass

        load = unittest.defaultTestLoader.loadTestsFromTestCase
        tests = unittest.TestSuite([load(Sample), load(Broken)])
        count = unittest.TextTestRunner(stream=io.StringIO(), resultclass=Result).run(tests).count()
        self.assertEqual((count.passed, count.failed, count.skipped), (1, 2, 1))
        ((skipped, why),) = count.skips
        self.assertTrue(skipped.endswith("Sample.test_is_skipped"), skipped)
        self.assertEqual(why, "for the sample")
        fails, breaks = sorted(count.names, reverse=True)
        self.assertTrue(fails.endswith("Sample.test_fails_twice"), fails)
        self.assertTrue(breaks.startswith("setUpClass ("), breaks)

    def test_skips_are_seen(self):
        skips = [("a", "no root"), ("b", "no corpus"), ("c", "no root")]
        self.assertEqual(skip_lines("python", skips), ["skipped: python no root: a, c", "skipped: python no corpus: b"])
        self.assertEqual(str(Count(3, skips=skips)), "3 passed, 0 failed, 3 skipped")

    def test_another_runner(self):
        """Which prints what failed, and the sum last."""
        script = "echo 'failed: unit A.b'; echo '3 passed, 1 failed'; exit 1"
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(run_counted(["sh", "-c", script]), Count(passed=3, failed=1, names=["unit A.b"]))

    def test_fuzzers(self):
        units = "stat::number_of_executed_units: "
        for said, status, passed in [(units + "12", 0, True), (units + "12", 77, False), (units + "0", 0, False),
                                     ("", 0, False)]:
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
                fuzz = Path(folder) / "fuzz"
                fuzz.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {status}\n")
                fuzz.chmod(0o755)
                self.assertEqual(run_fuzzer(fuzz, "name", "1"), passed, (said, status))

    def test_a_suite_that_breaks_off_has_failed(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(checked(Count(passed=3), 8), Count(passed=3, failed=1))
        self.assertEqual(checked(Count(passed=3, failed=2), 8), Count(passed=3, failed=2))
        self.assertEqual(checked(Count(passed=3), 0), Count(passed=3))


if __name__ == "__main__":
    unittest.main()
