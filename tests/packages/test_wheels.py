"""The wheels, in an environment that has nothing of the tree: pip install, compile, run."""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile
from pathlib import Path

import numpy as np
import onnx

from tests.e2e.caches import decoder
from tests.e2e.test_rows import text_decoder
from tests.packages.made import packages
from tests.packages.test_lower_bounds import NO_NETWORK
from tests.support import ROOT, model_file

MODEL = model_file("llama-dynamo-op18")
BIN = Path(sys.executable).parent
# What any Linux of the tag has.
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz|linux-vdso|ld-linux[\w-]*)\.so\.\d+$")
USE = """
import numpy as np, shardc, shardrt
from shardc.testing import assert_plan

plan = shardc.compile("model/model.onnx", "llama.shard", tp=2, dims={"batch": 2, "sequence": 8})
assert_plan(plan, "max all_reduce per layer 2", mesh={"tp": 2})
data = np.load("data.npz")
with shardrt.Session("llama.shard") as session:
    found = session.run({"input_ids": data["input_ids"], "attention_mask": data["attention_mask"]})["logits"]
np.save("found.npy", found)
try:
    shardc.compile("model/model.onnx", "other.shard", pp=50)
except shardc.CompileError as error:
    print(error.remedy)
print(shardc.__file__, shardrt.__file__, shardrt.library_version())
"""

USE_SERVER = """
import asyncio, shardrt

async def main():
    with shardrt.Server("oldest.shard") as server:
        print(*[token.id async for token in server.stream([5, 7, 11], max_tokens=4)])

asyncio.run(main())
"""


def oldest_python():
    """3.9, as pyenv has it, or by its name."""
    kept = sorted((Path.home() / ".pyenv/versions").glob("3.9.*/bin/python3.9"))
    return kept[-1] if kept else shutil.which("python3.9")


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def write_npz(file):
    from onnx import numpy_helper

    names = [*((f"input_{i}.pb", name) for i, name in enumerate(("input_ids", "attention_mask"))), ("output_0.pb", "expected")]
    tensors = {name: numpy_helper.to_array(onnx.load_tensor(MODEL.parent / "test_data_set_0" / pb)) for pb, name in names}
    np.savez(file, **tensors)
    return tensors["expected"]


class Wheels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        made, cls.said = packages("wheel")
        cls.wheels = sorted(made.iterdir())
        venv.create(cls.folder / "venv", with_pip=True, symlinks=True)
        cls.bin = cls.folder / "venv/bin"
        site = next((cls.folder / "venv/lib").glob("python*/site-packages"))
        for part in ("numpy", "numpy.libs"):  # as pip would have put it there
            shutil.copytree(Path(np.__file__).parents[1] / part, site / part, ignore=shutil.ignore_patterns("tests"))
        run(cls.bin / "python", "-m", "pip", "install", "-q", "--no-index", "--no-deps", *cls.wheels)
        cls.site = site
        cls.expected = write_npz(cls.folder / "data.npz")
        shutil.copytree(MODEL.parent, cls.folder / "model")
        # Nothing but the environment: no compiler, no LLVM.
        cls.clean = {"PATH": str(cls.bin), "HOME": str(cls.folder)}

    def test_tags(self):
        names = [wheel.name for wheel in self.wheels]
        self.assertEqual(len(names), 2)
        for name, package in zip(names, ("shardc", "shardrt"), strict=True):
            self.assertRegex(name, rf"^{package}-0\.1\.0-py3-none-manylinux_2_3\d_x86_64\.whl$")
            self.assertIn(f'{name.split("-")[-1][:-4]}"', self.said, "auditwheel says so of what was made")

    def test_no_wheel_has_grown(self):
        for wheel, most in zip(self.wheels, (140, 25), strict=True):
            self.assertLess(wheel.stat().st_size, most * 10**6, wheel.name)

    def test_licences_of_what_is_bundled(self):
        names = zipfile.ZipFile(self.wheels[0]).namelist()
        for part in ("LICENSE", *(f"third_party/{package}.txt" for package in ("libmlir-22", "libdnnl2", "libgomp1", "libtinfo6"))):
            self.assertTrue(any(name.endswith(f"licenses/{part}") for name in names), part)

    def test_the_servers_page_and_types_are_in_it(self):
        files = zipfile.ZipFile(self.wheels[1])
        page = files.read("shardrt/serve/page.html")
        self.assertEqual(page, (ROOT / "python/shardrt/shardrt/serve/page.html").read_bytes())
        self.assertIn("shardrt/py.typed", files.namelist())
        self.assertIn("shardc/py.typed", zipfile.ZipFile(self.wheels[0]).namelist())

    def test_compiles_and_runs(self):
        said = run(self.bin / "python", "-c", USE, cwd=self.folder, env=self.clean)
        self.assertTrue(said.startswith("use --pp 30 or less\n"), said)
        self.assertEqual(said.count(str(self.site)), 2, said)
        np.testing.assert_allclose(np.load(self.folder / "found.npy"), self.expected, rtol=1e-3, atol=1e-4)

    def test_the_oldest_python(self):
        """Compiles, runs and generates there as well, where the machine has it."""
        if not (oldest := oldest_python()):
            self.skipTest("no Python 3.9 on this machine")
        folder = self.folder / "oldest"
        run(oldest, "-m", "venv", folder)
        done = subprocess.run([folder / "bin/python", "-m", "pip", "install", "-q", "--only-binary", ":all:", "--retries", "1", *self.wheels],
                              capture_output=True, text=True, timeout=600)  # fmt: skip
        if done.returncode != 0 and NO_NETWORK.search(done.stderr):
            self.skipTest("no network: pip cannot install NumPy")
        self.assertEqual(done.returncode, 0, done.stderr)
        environment = {"PATH": str(folder / "bin"), "HOME": str(self.folder)}
        said = run(folder / "bin/python", "-c", USE, cwd=self.folder, env=environment)
        self.assertEqual(said.count(f"{folder}/lib/python3.9/site-packages"), 2, said)
        np.testing.assert_allclose(np.load(self.folder / "found.npy"), self.expected, rtol=1e-3, atol=1e-4)
        onnx.save(text_decoder(), self.folder / "oldest.onnx")
        run("shardc", "oldest.onnx", "--serve", "--tp", 2, "-o", "oldest.shard", cwd=self.folder, env=environment)
        command = ["shardrt", "generate", "oldest.shard", "--prompt-ids", "5,7,11", "--max-tokens", "4"]
        self.assertRegex(run(*command, cwd=self.folder, env=environment), r"^\d+ \d+ \d+ \d+\n$")
        said = run(folder / "bin/python", "-c", USE_SERVER, cwd=self.folder, env=environment)
        self.assertEqual(said, run(*command, cwd=self.folder, env=self.clean), "as the other Python has it")

    def test_programs(self):
        run("shardc", "model/model.onnx", "--tp", 3, "-o", "programs.shard", cwd=self.folder, env=self.clean)
        data = self.folder / "model/test_data_set_0"
        said = run("shardrun", "programs.shard", "--inputs", data, "--expect", data, cwd=self.folder, env=self.clean)
        self.assertIn("3 ranks, 1 run", said)
        said = run("shardrun", "--version", env=self.clean)
        self.assertIn("artifact format", said)
        self.assertEqual(run("shardrt", "--version", env=self.clean), said.replace("shardrun", "shardrt"))

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_mpirun(self):
        """Ranks of one machine meet without what asks MPI, which is in no wheel."""
        run("shardc", "model/model.onnx", "--tp", 2, "-o", "mpi.shard", cwd=self.folder, env=self.clean)
        data = self.folder / "model/test_data_set_0"
        launcher = (shutil.which("mpirun"), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", 2)
        said = run(*launcher, self.bin / "shardrun", "mpi.shard", "--inputs", data, "--expect", data, cwd=self.folder,
                   env=self.clean | {"PATH": f"{self.bin}:/usr/bin:/bin"})  # fmt: skip
        self.assertIn("2 ranks, 1 run", said)

    def test_generates(self):
        """By ids of tokens: what makes them of text is an extra."""
        onnx.save(decoder(), self.folder / "decoder.onnx")
        run("shardc", "decoder.onnx", "--serve", "--tp", 2, "-o", "served.shard", cwd=self.folder, env=self.clean)
        command = ["shardrt", "generate", "served.shard", "--prompt-ids", "5,7,11", "--max-tokens", "4"]
        said = run(*command, cwd=self.folder, env=self.clean)
        self.assertRegex(said, r"^\d+ \d+ \d+ \d+\n$")
        self.assertEqual(run("shardrun", *command[2:], cwd=self.folder, env=self.clean), said)
        done = subprocess.run([self.bin / "shardrt", *command[1:], "--tokenizer", "tokenizer.json"], cwd=self.folder,
                              env=self.clean, capture_output=True, text=True)  # fmt: skip
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"^shardrt generate: tokenizers is not installed .*: pip install 'shardrt\[generate\]'\n$")

    def test_libraries_are_in_the_wheel_or_the_systems(self):
        files = [self.site / "shardc/bin/shardc", self.site / "shardrt/bin/shardrun", self.site / "shardrt/lib/libshardrt.so.0"]
        for file in files:
            with self.subTest(file.name):
                lines = run("/usr/bin/ldd", file, env=self.clean).splitlines()
                self.assertGreater(len(lines), 5)
                for line in lines:
                    name, _, path = line.strip().partition(" => ")
                    if not path.startswith(str(self.site)):
                        self.assertRegex(name.split(" ")[0].rsplit("/")[-1], SYSTEM)

    def test_types_come_along(self):
        for package in ("shardc", "shardrt"):
            self.assertTrue((self.site / package / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
