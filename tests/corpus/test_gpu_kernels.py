"""Every generated kernel of the corpus is assembled for each GPU architecture: without spills, and small enough for a
block of 512 threads. Nothing here runs on a GPU."""

import json
import shutil
import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.corpus.plan_table import CORPUS
from tests.support import EndToEnd, program

ARCHITECTURES = {"sm_80.cubin", "sm_90.cubin", "sm_100.cubin"}
REGISTERS = 65536 // 512  # of a multiprocessor, for each thread of the largest block
SHARED_BYTES = 48 << 10  # what a block gets without asking


@unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
class GpuKernels(EndToEnd):
    def images(self, model):
        target = self.folder / model.parent.name
        done = program("shardc", model, "--tp", 2, "--target", "cuda", "-o", target)
        if done.returncode != 0 or "ptxas is not there" in done.stderr:
            return done.stderr or f"exit status {done.returncode}"
        manifest = json.loads((target / "manifest.json").read_text())
        ptx = (target / "kernels/compute_80.ptx").read_text() if "gpu_kernels" in manifest else ""
        shutil.rmtree(target)
        return manifest.get("gpu_kernels", {}), ptx

    def test_corpus(self):
        if not shutil.which("ptxas"):
            self.skipTest("ptxas is not on PATH")
        models = sorted(CORPUS.glob("*/model.onnx"))
        self.assertGreater(len(models), 0)
        seen = set()
        with ThreadPoolExecutor(2) as pool:
            for model, found in zip(models, pool.map(self.images, models)):
                with self.subTest(model.parent.name):
                    self.assertNotIsInstance(found, str, found)
                    kernels, ptx = found
                    if kernels:  # else nothing of the model is generated
                        self.assertEqual(set(kernels), ARCHITECTURES)
                    for image, resources in kernels.items():
                        for name, kernel in resources.items():
                            seen.add(name)
                            self.assertIn(f".entry {name}(", ptx)
                            self.assertEqual(kernel["spilled_bytes"], 0, f"{image} {name}")
                            self.assertGreater(kernel["registers"], 0, f"{image} {name}")
                            self.assertLessEqual(kernel["registers"], REGISTERS, f"{image} {name}")
                            self.assertLessEqual(kernel["shared_bytes"], SHARED_BYTES, f"{image} {name}")
        self.assertGreater(len(seen), 50, "kernels of the corpus")
