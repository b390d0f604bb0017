"""tools/gpu-bench as far as it runs without a GPU: its small case, on the host."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tests.support import BUILD, ROOT

SKELETONS = ROOT.parent / "shared/skeletons"
LIBRARY = BUILD / "runtime/libshardrt.so"
ROW = re.compile(r"\| ([\w-]+) \| (\w+) \| (\d+) \| ([0-9.]+) \|")


def run(*command):
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)


@unittest.skipIf(b"libasan.so" in LIBRARY.read_bytes(), "the library wants the address sanitizer to be loaded before it")
class GpuBench(unittest.TestCase):
    @unittest.skipUnless(SKELETONS.is_dir(), "no skeletons beside the clone")
    def test_its_small_cases(self):
        names = {"llama-tiny-f32": "llama", "mixture-tiny-f32": "mixture"}
        with tempfile.TemporaryDirectory() as folder:
            made = run(ROOT / "tools/bench/gpu_cases.py", SKELETONS, "-o", folder, "--build", BUILD, "--cases", *names)
            self.assertEqual(made.returncode, 0, made.stderr)
            for name, family in names.items():
                self.assertFalse(Path(folder, name, "model.onnx.data").exists(), "weights travel")
                self.assertEqual(json.loads(Path(folder, name, "case.json").read_text())["family"], family)
            timed = run(ROOT / "tools/gpu-bench", "--dry-run", "--bench", folder, "--build", BUILD, "--rounds", 4)
            self.assertEqual(timed.returncode, 0, timed.stderr)
            rows = {(name, what, int(batch)): float(ms) for name, what, batch, ms in ROW.findall(timed.stdout)}
            expected = [("llama-tiny-f32", "decode", 1), ("llama-tiny-f32", "decode", 2), ("llama-tiny-f32", "prefill", 1),
                        ("mixture-tiny-f32", "run", 2), ("mixture-tiny-f32", "run", 20)]  # fmt: skip
            self.assertEqual(sorted(rows), expected, timed.stdout)
            self.assertTrue(all(ms > 0 for ms in rows.values()), timed.stdout)
            self.assertIn("a dry run", timed.stdout)

    @unittest.skipUnless(SKELETONS.is_dir(), "no skeletons beside the clone")
    def test_a_case_that_fails_leaves_the_others(self):
        with tempfile.TemporaryDirectory() as folder:
            made = run(ROOT / "tools/bench/gpu_cases.py", SKELETONS, "-o", folder, "--build", BUILD, "--cases", "mixture-tiny-f32")
            self.assertEqual(made.returncode, 0, made.stderr)
            broken = Path(folder, "broken-tiny")
            shutil.copytree(Path(folder, "mixture-tiny-f32"), broken)
            (broken / "model.shard/manifest.json").write_text("{")
            timed = run(ROOT / "tools/gpu-bench", "--dry-run", "--bench", folder, "--build", BUILD, "--rounds", 1)
            self.assertEqual(timed.returncode, 1, timed.stderr)
            self.assertRegex(timed.stdout, "broken-tiny failed: shardrt: RuntimeError: .*manifest")
            self.assertEqual({name for name, *_ in ROW.findall(timed.stdout)}, {"mixture-tiny-f32"}, timed.stdout)
            self.assertIn("MISSED  broken-tiny runs", timed.stdout)

    def test_no_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run(ROOT / "tools/gpu-bench", "--bench", folder, "--build", BUILD)
            self.assertEqual(done.returncode, 1)
            self.assertIn("run tools/dev/gpu-bundle --bench", done.stderr)


if __name__ == "__main__":
    unittest.main()
