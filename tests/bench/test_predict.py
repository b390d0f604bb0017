"""tools/bench/predict and calibrate: published tables within their bounds, and a file of this machine."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tests.large import gpt
from tests.support import BUILD, ROOT, program

PUBLISHED = ROOT / "tools/bench/published"
MEAN = re.compile(r"^(\w+): mean error ([\d.]+) %, largest ([\d.]+) %", re.MULTILINE)


def run(tool, *arguments):
    return subprocess.run([sys.executable, ROOT / "tools/bench" / tool, "--build", BUILD, *map(str, arguments)], capture_output=True, text=True)


class Published(unittest.TestCase):
    def replay(self, table, rows, bound):
        done = run("predict", "--table", table)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(re.findall(r"[+-][\d.]+ %$", done.stdout, re.MULTILINE)), rows, done.stdout)
        name, mean, _ = MEAN.search(done.stdout).groups()
        self.assertEqual(name, table)
        self.assertLessEqual(float(mean), bound)

    def test_iterations_of_22_to_1000_billion_parameters(self):
        self.replay("table5", 9, 5)

    def test_one_layer(self):
        self.replay("table4", 10, 10)

    def test_tensor_parallel_scaling(self):
        self.replay("tp", 12, 10)

    def test_zero_memory(self):
        self.replay("zero", 4, 10)

    def test_published_servers(self):
        self.replay("serving", 18, 20)

    def test_a_broken_bound_is_an_error(self):
        """With a machine of another speed every row is off."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "tools/bench")
            copy.mkdir(parents=True)
            for file in (ROOT / "tools/bench").iterdir():
                if file.is_file():
                    (copy / file.name).write_bytes(file.read_bytes())
            (copy / "published").mkdir()
            for file in PUBLISHED.iterdir():
                text = file.read_text().replace(",120,", ",60,")
                (copy / "published" / file.name).write_text(text)
            Path(folder, "tests").symlink_to(ROOT / "tests")
            done = subprocess.run([sys.executable, copy / "predict", "--build", BUILD, "--table", "zero"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("+100.0 %", done.stdout)


class Calibrate(unittest.TestCase):
    def test_its_file_is_a_machine(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "host.json")
            done = run("calibrate", "-o", file, "--quick", "--rounds", 1, "--ranks", 2)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            machine = json.loads(file.read_text())
            self.assertEqual(machine["devices_per_node"], 2)
            for kind in ("all_reduce", "all_gather"):
                self.assertGreater(len(machine["inside_node"][kind]["2"]), 1, kind)
            model, _ = gpt(Path(folder), layers=2, hidden=64, heads=4, vocabulary=128, positions=32)
            plan = Path(folder, "plan.json")
            planned = program("shardc", "plan", model, "--topology", file, "--dims", "batch=1,seq=32", "--json", plan)
            self.assertEqual(planned.returncode, 0, planned.stderr)
            self.assertGreater(json.loads(plan.read_text())["candidates"][0]["seconds"]["prefill"], 0)
