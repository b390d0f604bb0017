#!/usr/bin/env python3
"""Runs the test suites on what is built in build/ and adds up what they counted.

    run_tests.py                 every suite
    run_tests.py unit lit        only these
    run_tests.py --build DIR     on what is built in DIR (tools/dev/sanitize)

The last line reads `N passed, M failed`, behind the names of those that were skipped, with why, and of those that failed; exit status 1 if any
did. A skipped test counts as neither. A suite that finds no test, or ends badly without naming a failed one, counts as one failure: silence is
no success.
"""

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"  # --build
UNIT_TESTS = None  # --unit-tests
BIN = Path(sys.executable).parent  # the environment's programs; its interpreter is a link, so not resolved
CORPUS = ROOT.parent / "shared" / "check_corpus.py"
CORPUS_MODELS = (
    "bert-ts-op17,bert-dynamo-op18,distilbert-ts-op14,gpt2-dynamo-op20,llama-dynamo-op18,llama-dynamo-static,"
    "llama-dynamo-kv-op23,qwen3-dynamo-op21,vit-dynamo-op18,vit-ts-static-op17"
)
# Python tests that wait for processes, stop or measure them: they run one after the other, with nothing beside.
TIMED = ("dev.", "errors.", *(f"e2e.test_{name}" for name in ("cuda_plugin", "memory", "process", "replacing", "run_times")))
CORPUS_PLANS = "tp=1; tp=2; tp=3; tp=4; tp=8"
CORPUS_ROWS = ("*-optimum-kv", "*-dynamo-*kv*", "*-genai-*", "llama-hf5-kv", "qwen3-hf5-ort-cuda")  # decoders that have a step of rows


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    names: list = field(default_factory=list)  # of those that failed
    skips: list = field(default_factory=list)  # pairs of name and reason

    @property
    def skipped(self):
        return len(self.skips)

    def __add__(self, other):
        return Count(self.passed + other.passed, self.failed + other.failed, self.names + other.names, self.skips + other.skips)

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], cwd=ROOT, **options).returncode


def checked(count, status):
    """A suite that ended badly although no test failed has failed as a whole."""
    if status != 0 and count.failed == 0:
        print(f"error: the suite ended with status {status}, but names no failed test")
        count.failed = 1
    return count


def count_junit(text):
    """What `ctest --output-junit` wrote."""
    count = Count()
    for case in xml.fromstring(text).iter("testcase"):
        skipped = case.find("skipped")
        if case.get("status") == "run":
            count.passed += 1
        elif case.get("status") == "disabled" or (skipped is not None and skipped.get("message").startswith("SKIP_")):
            said = re.search(r": Skipped\n(.+)", case.findtext("system-out") or "")  # by GTEST_SKIP() << why
            count.skips.append((case.get("name"), said[1] if said else "disabled"))
        else:  # among them programs that are not there: their cases read "notrun" too
            count += Count(failed=1, names=[case.get("name")])
    return count


def count_lit(text):
    """What `lit --output` wrote."""
    count = Count()
    for test in json.loads(text)["tests"]:
        if test["code"] in ("PASS", "FLAKYPASS", "XFAIL"):
            count.passed += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED"):
            count.skips.append((test["name"], test["code"].lower()))
        else:
            count += Count(failed=1, names=[test["name"]])
    return count


def run_reported(report, count_report, *command):
    """Runs a tool that writes a report of its tests, and counts what is in it."""
    report.unlink(missing_ok=True)
    status = run(*command)
    return checked(count_report(report.read_text()) if report.exists() else Count(), status)


def run_counted(command, **options):
    """Runs what prints `N passed, M failed` as its last such line."""
    count, names = Count(), []
    with subprocess.Popen([str(part) for part in command], cwd=ROOT, stdout=subprocess.PIPE, text=True, **options) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            if failed := re.fullmatch(r"failed: (.*)\n", line):
                names.append(failed[1])
            if last := re.fullmatch(r"(\d+) passed, (\d+) failed\n", line):
                count = Count(int(last[1]), int(last[2]))
    count.names = names
    return checked(count, process.returncode)


def run_unit():
    """GoogleTest programs, by ctest."""
    report = BUILD / "ctest.xml"
    command = [BIN / "ctest", "--test-dir", BUILD, "-j", os.cpu_count() or 1, "--output-on-failure"]
    if UNIT_TESTS:
        command += ["-R", UNIT_TESTS]
    return run_reported(report, count_junit, *command, "--output-junit", report)


def run_lit():
    """FileCheck tests, by lit."""
    report = BUILD / "lit.json"
    return run_reported(report, count_lit, BIN / "lit", "-sv", "--output", report, BUILD / "tests")


class Result(unittest.TextTestResult):
    """Counts tests, not subtests: one with a failing subtest has failed once, and has not passed."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def count(self):
        broken = [test for test, _ in self.failures + self.errors] + self.unexpectedSuccesses
        failed = sorted({getattr(test, "test_case", test).id() for test in broken})
        skips = [(getattr(test, "test_case", test).id(), why) for test, why in self.skipped]
        return Count(self.passed + len(self.expectedFailures), len(failed), failed, skips)


def run_module(name, stream):
    tests = unittest.defaultTestLoader.loadTestsFromName(name)
    return unittest.TextTestRunner(stream=stream, verbosity=2, resultclass=Result).run(tests).count()


def run_module_apart(name):
    """Beside others: what it prints is for when it is done."""
    stream = io.StringIO()
    return run_module(name, stream), stream.getvalue()


def run_python():
    """tests/**/test_*.py, by unittest."""
    sys.path.insert(0, str(ROOT))
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]
    timed = [name for name in names if name.removeprefix("tests.").startswith(TIMED)]
    counts = []
    with ProcessPoolExecutor(os.cpu_count() or 1) as pool:
        apart = {name: pool.submit(run_module_apart, name) for name in names if name not in timed}
        for name, future in apart.items():
            try:
                count, text = future.result()
            except BrokenProcessPool as error:  # one of those that ran has ended its process
                count, text = Count(failed=1, names=[name]), f"error: {name}: {error}"
            print(text, flush=True)
            counts.append(count)
    counts += [run_module(name, sys.stdout) for name in timed]
    return sum(counts, Count())


def run_corpus():
    """The corpus beside the clone, where there is one."""
    if not CORPUS.exists():
        print("no corpus beside the clone: skipped")
        return Count(skips=[("all of it", "no corpus beside the clone")])
    command = [sys.executable, CORPUS, "--build", BUILD, "--against-first"]
    command += ["--models", CORPUS_MODELS, "--plans", CORPUS_PLANS]
    # What every rank holds whole must be the same bits on all of them.
    environment = os.environ | {"SHARDC_CHECK_REPLICAS": "1"}
    return run_counted(command, env=environment) + run_rows()


def run_rows():
    """Decoders of the corpus as steps of rows, against their requests on one rank."""
    count = Count()
    for folder in sorted(folder for kind in CORPUS_ROWS for folder in (CORPUS.parent / "corpus").glob(kind)):
        command = [BUILD / "bin" / "shardc", "verify", folder / "model.onnx", "--tp", "2", "--serve=16"]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        agrees = done.returncode == 0
        print(f"rows of {folder.name}: {'agree' if agrees else done.stdout}", flush=True)
        count += Count(passed=1) if agrees else Count(failed=1, names=[f"rows of {folder.name}"])
    return count


def run_fuzz():
    """Every harness of tools/dev/fuzz for some seconds, SHARDC_FUZZ_SECONDS each."""
    fuzz = ROOT / "tools" / "dev" / "fuzz"
    seconds = os.environ.get("SHARDC_FUZZ_SECONDS", "15")
    if run(fuzz, "--build") != 0:
        return Count(failed=1)
    names = subprocess.run([fuzz, "--list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        passed = list(pool.map(lambda name: run_fuzzer(fuzz, name, seconds), names))
    failed = [name for name, meets in zip(names, passed, strict=True) if not meets]
    return Count(passed=sum(passed), failed=len(failed), names=failed)


def run_fuzzer(fuzz, name, seconds):
    """Whether no input ended the program."""
    command = [fuzz, name, "--built", "--seconds", seconds]
    ended = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, errors="replace",
                           env={"SHARDC_FUZZ_SEED": "1"} | os.environ)
    runs = re.search(r"number_of_executed_units: (\d+)", ended.stderr)
    if ended.returncode == 0 and runs and int(runs[1]) > 0:
        print(f"{name}: {runs[1]} inputs", flush=True)
        return True
    print(f"{name}: status {ended.returncode}\n{ended.stdout}{ended.stderr[-8000:]}", flush=True)
    return False


def run_sanitized():
    """Some of the runtime's unit tests under sanitizers and with assertions."""
    count = Count()
    for kind in ("address", "thread"):
        part = run_counted([ROOT / "tools" / "dev" / "sanitize", kind, "--part"])
        count += part
    return count


SUITES = {"unit": run_unit, "lit": run_lit, "python": run_python, "corpus": run_corpus, "fuzz": run_fuzz,
          "sanitized": run_sanitized}


def skip_lines(suite, skips):
    """A line for each reason, so that nobody takes what did not run for passed."""
    reasons = {}
    for test, why in skips:
        reasons.setdefault(why, []).append(test)
    return [f"skipped: {suite} {why}: {', '.join(tests)}" for why, tests in reasons.items()]


def main():
    global BUILD, UNIT_TESTS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    described = ", ".join(f"{name} ({suite.__doc__.rstrip('.')})" for name, suite in SUITES.items())
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=described)
    parser.add_argument("--build", type=Path, default=BUILD, help="the build folder (%(default)s)")
    parser.add_argument("--unit-tests", metavar="REGEX", help="of the suite unit only tests of such names")
    arguments = parser.parse_args()
    BUILD, UNIT_TESTS = arguments.build.resolve(), arguments.unit_tests
    os.environ["SHARDC_TEST_BUILD"] = str(BUILD)  # tests/support.py
    chosen = arguments.suites or list(SUITES)
    if unknown := [name for name in chosen if name not in SUITES]:
        parser.error(f"no suite {', '.join(unknown)}: there are {', '.join(SUITES)}")

    os.environ["PATH"] = os.pathsep.join([str(BIN), os.environ["PATH"]])
    made = tempfile.TemporaryDirectory()  # tests/packages/made.py
    os.environ["SHARDC_TEST_PACKAGES"] = made.name
    counts = {}
    for name in chosen:
        print(f"== Tests: {name}", flush=True)
        start = time.monotonic()
        count = SUITES[name]()
        if count == Count():
            print("error: the suite found no test")
            count.failed = 1
        counts[name] = (count, time.monotonic() - start)

    print("== Summary", flush=True)
    for name, (count, seconds) in counts.items():
        print(f"{name:8} {count} ({seconds:.1f} s)")
    for name, (count, _) in counts.items():
        for line in skip_lines(name, count.skips):
            print(line)
    for name, (count, _) in counts.items():
        for test in count.names:
            print(f"failed: {name} {test}")
    passed = sum(count.passed for count, _ in counts.values())
    failed = sum(count.failed for count, _ in counts.values())
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
