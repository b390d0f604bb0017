"""Every model of the corpus under ten plans with --bitwise: the same bits, by hash, and as near to other engines as without."""

import hashlib
import os
import shutil
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import onnx

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
# Instructions that kernels may use, of one family; the last one is all that there are here, which says nothing of bfloat16.
LEVELS = ("avx2", "avx-vnni", "avx512", "avx512-vnni", "")


def is_of_bfloat16(model):
    """Whose bits are those of the processor's own products."""
    tensors = onnx.load(model / "model.onnx", load_external_data=False).graph.initializer
    return any(tensor.data_type == onnx.TensorProto.BFLOAT16 for tensor in tensors)


def hashes(model, flags, runs):
    """For each run, flags of shardrun and a processor: those of the outputs of each data set, by file; or what went wrong."""
    with tempfile.TemporaryDirectory() as folder:
        artifact = Path(folder) / "model.shard"
        done = program("shardc", model / "model.onnx", "--bitwise", "-o", artifact, *flags.split())
        if done.returncode:
            return [done.stdout[-300:] + done.stderr[-300:]] * len(runs)
        return [hashes_of_run(model, artifact, Path(folder) / "out", run, level, not flags) for run, level in runs]


def hashes_of_run(model, artifact, out, run, level, is_expected):
    found = []
    for data_set in sorted(model.glob("test_data_set_*")):
        shutil.rmtree(out, ignore_errors=True)
        expect = ["--expect", data_set] if is_expected else []
        done = program("shardrun", artifact, "--inputs", data_set, "--outputs", out, *expect, *run.split(),
                       env={**os.environ, "SHARDC_PROCESSOR": level})  # fmt: skip
        if done.returncode:
            return done.stdout[-300:] + done.stderr[-300:]
        found.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in out.glob("*.pb")})
    return found


@unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
class Bitwise(unittest.TestCase):
    def test_every_model_under_ten_plans(self):
        models = sorted(file.parent for file in CORPUS.glob("*/model.onnx"))
        self.assertGreater(len(models), 10)
        tasks = [(model, *plan) for model in models for plan in PLANS]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda task: hashes(*task[:2], [(task[2], "")])[0], tasks))
        for i, (model, flags, run) in enumerate(tasks):
            with self.subTest(model=model.name, plan=flags, run=run):
                self.assertIsInstance(found[i], list, found[i])
                self.assertGreater(len(found[i]), 0)
                self.assertEqual(found[i], found[i - i % len(PLANS)])

    def test_every_model_on_every_processor_of_a_family(self):
        """As it is, and with activations in 8 bits where weights are quantised."""
        models = sorted(file.parent for file in CORPUS.glob("*/model.onnx"))
        tasks = [(model, flags, [("", level) for level in LEVELS]) for model in models for flags in ("", "--tp 2 --compute int8")]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for (model, flags, _), found in zip(tasks, pool.map(lambda task: hashes(*task), tasks)):
                for level, each in zip(LEVELS, found):
                    if level or not is_of_bfloat16(model):
                        with self.subTest(model=model.name, flags=flags, level=level):
                            self.assertIsInstance(each, list, each)
                            self.assertGreater(len(each), 0)
                            self.assertEqual(each, found[0])


if __name__ == "__main__":
    unittest.main()
