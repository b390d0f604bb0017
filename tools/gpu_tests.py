"""Runs programs of GoogleTest on a GPU that may hang, crash or lose its context, for tools/gpu-check.

What comes behind a test that ends its process, hangs, or leaves an error that stays (an illegal address) runs in a new
process: one bad kernel costs one test.
"""

import os
import re
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from gpu_build import find_nvcc, toolkit_folders

ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:, where .*)? \(\d+ ms\)$")
# Errors of CUDA after which every later call of the process reports them again.
STAYING = re.compile(r"illegal memory access|unspecified launch failure|misaligned address|device-side assert|illegal instruction"
                     r"|hardware stack error|invalid program counter|launch timed out|uncorrectable")  # fmt: skip
# compute-sanitizer's findings are lines behind a test's; these are none.
REPORT = re.compile(r"=========\s+(?!COMPUTE-SANITIZER|ERROR SUMMARY: 0|RACECHECK SUMMARY: 0|Internal Sanitizer)\S")
SLOWER = 20  # times, under compute-sanitizer
MOST_BAD_ENDS = 25  # in a row: nothing works


@dataclass
class Outcome:
    name: str
    kind: str  # OK, FAILED or SKIPPED
    said: list = field(default_factory=list)


class NoAnswer(Exception):
    """The GPU, or a process on it, does not come back."""


def gpu_answers(tries=3, limit=30):
    """Where there is no nvidia-smi nobody can ask."""
    if not shutil.which("nvidia-smi"):
        return True
    for _ in range(tries):
        try:
            if subprocess.run(["nvidia-smi"], capture_output=True, timeout=limit).returncode == 0:
                return True
        except subprocess.TimeoutExpired:
            pass
        time.sleep(1)
    return False


def find_sanitizer():
    """On PATH, or in a toolkit: that of nvcc first, which the kernels were compiled by."""
    if found := shutil.which("compute-sanitizer"):
        return found
    nvcc, _ = find_nvcc()
    for home in [*([nvcc.parents[1]] if nvcc else []), *toolkit_folders()]:
        for part in ("bin", "compute-sanitizer"):
            if os.access(found := Path(home, part, "compute-sanitizer"), os.X_OK):
                return str(found)
    return None


class TestProgram:
    def __init__(self, folder, name, limit, sanitizer=()):
        """`sanitizer` is the command before the program's, of compute-sanitizer."""
        self.path, self.name = folder / "bin" / name, name
        self.limit = limit * (SLOWER if sanitizer else 1)
        self.sanitizer = list(sanitizer)
        self.environment = os.environ | {"SHARDC_BACKENDS": f"{folder}/lib/tests:{folder}/lib"}
        self.flags = folder / f"{name}.flags"

    def tests(self, pattern="*"):
        """Names of the tests that match, as GoogleTest's filters do."""
        command = [self.path, "--gtest_list_tests", f"--gtest_filter={pattern}"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=self.limit)
        names, suite = [], ""
        for line in done.stdout.splitlines():
            name = line.split("  #")[0].rstrip()
            if line.startswith("  "):
                names.append(suite + name.strip())
            elif name.endswith("."):
                suite = name
        return names

    def run(self, names, deadline=None, **variables):
        """Yields outcomes as they come; of names that are left at the deadline, none."""
        left, bad_ends = list(names), 0
        while left:
            before = len(left)
            for outcome in self._run_once(left, deadline, variables):
                yield outcome
                if outcome.name in left:
                    left.remove(outcome.name)
                bad_ends = bad_ends + 1 if outcome.kind == "FAILED" else 0
            if len(left) == before or (deadline and time.monotonic() >= deadline):
                return
            if bad_ends >= MOST_BAD_ENDS and left:
                yield Outcome(self.name, "FAILED", [f"the last {bad_ends} tests failed: {len(left)} more were not run"])
                return
            if left and not gpu_answers():
                raise NoAnswer(f"the GPU does not answer any more; {len(left)} tests of {self.name} were not run")

    def _run_once(self, names, deadline, variables):
        """One process. Ends behind a test after which no other says anything."""
        self.flags.write_text(f"--gtest_filter={':'.join(names)}\n")
        command = [*self.sanitizer, self.path, f"--gtest_flagfile={self.flags}"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "errors": "replace"}
        running = subprocess.Popen(command, env=self.environment | variables, **pipes)
        alarm = Alarm(running, self.limit, deadline)
        name, said, kinds, stays = "", [], set(), False
        for line in map(str.rstrip, running.stdout):
            if line.startswith("[ RUN"):
                name, said = line.split()[-1], []
                alarm.start()
            elif ended := ENDED.match(line):
                kind, test = ended.groups()
                if any(map(REPORT.match, said)):
                    kind = "FAILED"
                kinds.add(kind)
                yield Outcome(test, kind, said)
                name = ""
                if stays := kind == "FAILED" and any(map(STAYING.search, said)):
                    running.kill()
                    break
            else:
                said.append(line)
        alarm.stop()
        running.stdout.close()
        code = wait_for_end(running)
        if alarm.is_over or stays:
            return
        if alarm.has_rung:
            yield Outcome(name or self.name, "FAILED", [f"took more than {self.limit} s", *said])
        elif name:
            yield Outcome(name, "FAILED", [f"it ended with {code}", *said[-40:]])
        elif not kinds or code < 0 or (code and "FAILED" not in kinds):
            why = f"it ended with {code}" + ("" if kinds else " and ran no test")
            yield Outcome(self.name, "FAILED", [why, *said[-40:]])


class Alarm:
    """Kills a process whose test takes longer than the limit, or at the deadline of all."""

    def __init__(self, process, limit, deadline):
        self.process, self.limit, self.deadline = process, limit, deadline
        self.has_rung = self.is_over = False
        self.timer = None
        self.start()

    def start(self):
        self.stop()
        left = self.deadline - time.monotonic() if self.deadline else self.limit
        ends = left < self.limit
        self.timer = threading.Timer(max(0, min(left, self.limit)), self.ring, [ends])
        self.timer.start()

    def ring(self, is_over):
        self.is_over, self.has_rung = is_over, not is_over
        self.process.kill()

    def stop(self):
        if self.timer:
            self.timer.cancel()


def wait_for_end(process, limit=30):
    try:
        return process.wait(limit)
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"process {process.pid} does not end when killed: the driver holds it") from None
