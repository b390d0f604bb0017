"""The Debian packages, installed by dpkg into a bare root that has their dependencies and nothing else, and run there.

The root is made of packages of this machine, which is a Debian with all that the programs were built with."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.packages.made import packages
from tests.support import model_file, read_outputs

MODEL = model_file("llama-dynamo-op18")
DATA = MODEL.parent / "test_data_set_0"
CLIENT = Path(__file__).parent / "client/client.c"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def field(package, name):
    status, value = run("dpkg-query", "-W", "-f", f"${{Status}}\n${{{name}}}\n", package).splitlines()[:2]
    assert status.endswith(" installed"), f"{package}: {status}"
    return value


def names(dependencies):
    """The first alternative of each."""
    return [re.match(r"[\w.+-]+", part.strip())[0] for part in dependencies.split(",") if part.strip()]


def closure(wanted):
    """Packages that these need, with those."""
    found, rest = set(), list(wanted)
    while rest:
        name = rest.pop()
        if name in found:
            continue
        try:
            depends = field(name, "Depends") + "," + field(name, "Pre-Depends")
        except AssertionError:  # another package provides it
            provider = run("dpkg-query", "-W", "-f", "${Package}|${Provides}\n").splitlines()
            rest += [line.split("|")[0] for line in provider if name in names(line.split("|")[1])][:1]
            continue
        found.add(name)
        rest += names(depends)
    return found


def copy_package(name, root):
    """Its files, as they are installed here."""
    listed = [path for path in run("dpkg-query", "-L", name).splitlines()
              if not path.startswith("/usr/share") or path.startswith("/usr/share/python")]  # fmt: skip
    files = "\n".join(path for path in listed if os.path.islink(path) or os.path.isfile(path))
    subprocess.run(["sh", "-c", "tar -cf - -T - --no-recursion | tar -xf - -C \"$0\"", root], input=files, text=True, check=True,
                   stderr=subprocess.DEVNULL)  # fmt: skip


def bare_root(root, packages):
    (root / "var/lib/dpkg/updates").mkdir(parents=True)
    (root / "var/lib/dpkg/info").mkdir()
    for folder in ("bin", "lib", "lib64", "sbin"):  # as a Debian has them since 12
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to(f"usr/{folder}")
    for folder in ("tmp", "proc", "dev", "etc"):
        (root / folder).mkdir()
    for package in sorted(packages):
        copy_package(package, root)
    (root / "var/lib/dpkg/status").write_text("\n".join(run("dpkg-query", "-s", package) for package in sorted(packages)))


@unittest.skipUnless(os.getuid() == 0 and shutil.which("dpkg-deb"), "a bare root takes root, of a Debian")
class Debs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        made, _ = packages("deb")
        cls.debs = {deb.name.split("_")[0]: deb for deb in made.iterdir()}
        cls.root = cls.folder / "root"
        installed = ["libshardrt0", "libshardrt-dev", "shardc", "shardrun"]
        needed = [name for deb in installed for name in names(run("dpkg-deb", "-f", cls.debs[deb], "Depends"))]
        bare_root(cls.root, closure(name for name in needed if name not in cls.debs))
        # dpkg refuses what depends on a package that is not there.
        run("dpkg", f"--root={cls.root}", "--force-not-root", "--no-triggers", "-i", *(cls.debs[deb] for deb in installed))
        shutil.copytree(MODEL.parent, cls.root / "tmp/model")
        cls.expected = read_outputs(DATA)[0]

    def inside(self, *command):
        """Runs it where nothing but the root is."""
        clean = {"PATH": "/usr/bin", "HOME": "/tmp", "LD_LIBRARY_PATH": ""}
        return run(shutil.which("chroot"), self.root, *command, env=clean)

    def assert_near(self, found):
        np.testing.assert_allclose(found, self.expected, rtol=1e-3, atol=1e-4)

    def test_there_are_six(self):
        names = ["libshardrt-dev", "libshardrt-mpi", "libshardrt-ucx", "libshardrt0", "shardc", "shardrun"]
        self.assertEqual(sorted(self.debs), names)
        self.assertIn("libucx0", run("dpkg-deb", "-f", self.debs["libshardrt-ucx"], "Depends"))
        self.assertIn("libshardrt0 (= ", run("dpkg-deb", "-f", self.debs["libshardrt-dev"], "Depends"))
        for name in ("libshardrt0", "libshardrt-dev", "shardrun"):
            self.assertNotIn("llvm", run("dpkg-deb", "-f", self.debs[name], "Depends"))

    def test_compiles_and_runs(self):
        self.inside("/usr/bin/shardc", "/tmp/model/model.onnx", "--tp", 2, "-o", "/tmp/llama.shard")
        data = "/tmp/model/test_data_set_0"
        said = self.inside("/usr/bin/shardrun", "/tmp/llama.shard", "--inputs", data, "--expect", data, "--outputs", "/tmp/out")
        self.assertIn("2 ranks, 1 run", said)
        self.assert_near(read_outputs(self.root / "tmp/out")[0])

    def test_a_program_of_the_library(self):
        self.inside("/usr/bin/shardc", "/tmp/model/model.onnx", "--tp", 2, "-o", "/tmp/other.shard")
        usr = self.root / "usr"
        run("cc", CLIENT, "-o", self.root / "tmp/client", f"-I{usr}/include", f"-L{usr}/lib", "-lshardrt",
            f"-Wl,-rpath-link,{usr}/lib/x86_64-linux-gnu")  # fmt: skip
        inputs = []
        for file in sorted(DATA.glob("input_*.pb")):
            numpy_helper.to_array(onnx.load_tensor(file)).astype(np.int64).tofile(self.root / "tmp" / file.stem)
            inputs.append(f"/tmp/{file.stem}")
        dims = onnx.load_tensor(DATA / "input_0.pb").dims
        said = self.inside("/tmp/client", "/tmp/other.shard", "/tmp/found", *dims, *inputs)
        self.assertIn("2 ranks: input_ids [batch, sequence]", said)
        self.assert_near(np.fromfile(self.root / "tmp/found", np.float32).reshape(self.expected.shape))

    def test_dpkg_asks_for_what_is_needed(self):
        done = subprocess.run(["dpkg", f"--root={self.root}", "--no-triggers", "-i", self.debs["libshardrt-mpi"]],
                              capture_output=True, text=True)  # fmt: skip
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("depends on libopenmpi3", done.stderr)


if __name__ == "__main__":
    unittest.main()
