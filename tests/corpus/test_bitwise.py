"""Every model of the corpus under ten plans with --bitwise: the same bits, by hash, and as near to other engines as without."""

import hashlib
import os
import shutil
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.corpus.plan_table import CORPUS
from tests.support import program

# Flags of shardc, and of shardrun. The first one is what the others are compared with.
PLANS = (
    ("", ""),
    ("", "--threads 2"),
    ("--tp 2", ""),
    ("--tp 3", ""),
    ("--tp 8", ""),
    ("--tp 2 --sp", ""),
    ("--tp 4 --cp 2", ""),
    ("--cp 2 --cp-mode ulysses", ""),
    ("--pp 2 --micro-batches 2", ""),
    ("--fsdp 2 --tp 2", ""),
    ("--ep 2 --dp 2", ""),
)


def hashes(model, flags, run):
    """Of the outputs of each data set, by file; or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        artifact, out = Path(folder) / "model.shard", Path(folder) / "out"
        done = program("shardc", model / "model.onnx", "--bitwise", "-o", artifact, *flags.split())
        found = []
        for data_set in sorted(model.glob("test_data_set_*")) if done.returncode == 0 else []:
            shutil.rmtree(out, ignore_errors=True)
            expect = ["--expect", data_set] if (flags, run) == PLANS[0] else []
            done = program("shardrun", artifact, "--inputs", data_set, "--outputs", out, *expect, *run.split())
            if done.returncode:
                break
            found.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in out.glob("*.pb")})
        return found if done.returncode == 0 else done.stdout[-300:] + done.stderr[-300:]


@unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
class Bitwise(unittest.TestCase):
    def test_every_model_under_ten_plans(self):
        models = sorted(file.parent for file in CORPUS.glob("*/model.onnx"))
        self.assertGreater(len(models), 10)
        tasks = [(model, *plan) for model in models for plan in PLANS]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda task: hashes(*task), tasks))
        for i, (model, flags, run) in enumerate(tasks):
            with self.subTest(model=model.name, plan=flags, run=run):
                self.assertIsInstance(found[i], list, found[i])
                self.assertGreater(len(found[i]), 0)
                self.assertEqual(found[i], found[i - i % len(PLANS)])


if __name__ == "__main__":
    unittest.main()
