"""`cmake --install`, used from outside of the tree: programs, clients by find_package and by pkg-config, moved."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.e2e.test_rows import text_decoder
from tests.support import BUILD, model_file, read_outputs

CMAKE = Path(sys.executable).parent / "cmake"
CLIENT = Path(__file__).parent / "client"
MODEL = model_file("llama-dynamo-op18")
DATA = MODEL.parent / "test_data_set_0"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def install(prefix, *components):
    for component in components:
        run(CMAKE, "--install", BUILD, "--prefix", prefix, "--component", component)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name).resolve()
        install(cls.folder / "first", "runtime", "runner", "devel", "compiler", "mpi")
        cls.prefix = cls.folder / "moved"
        (cls.folder / "first").rename(cls.prefix)
        cls.libraries = next(cls.prefix.rglob("libshardrt.so")).parent
        cls.artifact = cls.folder / "llama.shard"
        run(cls.prefix / "bin/shardc", MODEL, "--tp", 2, "-o", cls.artifact, cwd=cls.folder)
        cls.inputs = []
        for file in sorted(DATA.glob("input_*.pb")):
            cls.inputs.append(cls.folder / file.stem)
            numpy_helper.to_array(onnx.load_tensor(file)).astype(np.int64).tofile(cls.inputs[-1])
        cls.expected = read_outputs(DATA)[0]

    def assert_runs(self, client, **environment):
        out = self.folder / "out"
        out.unlink(missing_ok=True)
        dims = onnx.load_tensor(DATA / "input_0.pb").dims
        said = run(client, self.artifact, out, *dims, *self.inputs, cwd=self.folder, env=os.environ | environment)
        self.assertRegex(said, r"^0\.\d+\.\d+, 2 ranks: input_ids \[batch, sequence\] attention_mask \[batch, sequence\]\n")
        np.testing.assert_allclose(np.fromfile(out, np.float32).reshape(self.expected.shape), self.expected, rtol=1e-3, atol=1e-4)

    def assert_every(self, client, **environment):
        """The client that calls each function."""
        onnx.save(text_decoder(), self.folder / "decoder.onnx")
        artifacts = [self.folder / name for name in ("decoder.shard", "served.shard")]
        for artifact, flags in zip(artifacts, ([], ["--serve=4"])):
            if not artifact.exists():
                run(self.prefix / "bin/shardc", self.folder / "decoder.onnx", "--tp", 2, *flags, "-o", artifact)
        trace = self.folder / "trace.json"
        trace.unlink(missing_ok=True)
        said = run(client, self.artifact, *artifacts, trace, cwd=self.folder, env=os.environ | environment)
        self.assertRegex(said, r"^0\.\d+\.\d+: all is as it was\n$")
        self.assertIn("traceEvents", trace.read_text())

    def declared(self):
        headers = "".join((self.prefix / "include" / name).read_text() for name in ("shardrt.h", "shardrt_server.h", "shardrt_statistics.h"))
        return set(re.findall(r"\b(shardrt_\w+)\(", headers))

    def test_programs(self):
        outputs = self.folder / "outputs"
        said = run(self.prefix / "bin/shardrun", self.artifact, "--inputs", DATA, "--expect", DATA, "--outputs", outputs,
                   cwd=self.folder)  # fmt: skip
        self.assertIn("2 ranks, 1 run", said)
        np.testing.assert_allclose(read_outputs(outputs)[0], self.expected, rtol=1e-3, atol=1e-4)

    def test_nothing_of_the_tree_is_in_it(self):
        for file in [*(self.prefix / "bin").iterdir(), self.libraries / "libshardrt.so"]:
            with self.subTest(file.name):
                dynamic = run("readelf", "-d", file)
                self.assertRegex(dynamic, r"\(RUNPATH\) .*\[\$ORIGIN")
                self.assertNotIn(str(BUILD), dynamic)
        for file in [*self.prefix.rglob("*.cmake"), *self.prefix.rglob("*.pc"), *self.prefix.rglob("*.h*")]:
            with self.subTest(file.name):
                self.assertNotIn(str(BUILD.parent), file.read_text())
                self.assertNotRegex(file.read_text(), r'#include "(?!shardrt(_server|_statistics)?\.h(pp)?")')

    def test_the_library_exports_the_c_api_alone(self):
        library = self.libraries / "libshardrt.so"
        self.assertIn("Library soname: [libshardrt.so.0]", run("readelf", "-d", library))
        self.assertEqual(os.readlink(library), "libshardrt.so.0")
        exported = [line.split()[2].split("@")[0] for line in run("nm", "-D", "--defined-only", library).splitlines()]
        self.assertEqual(sorted(name for name in exported if not name.startswith("SHARDRT_")), sorted(self.declared()))

    def test_clients_by_find_package(self):
        build = self.folder / "client"
        run(CMAKE, "-S", CLIENT, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run(CMAKE, "--build", build)
        for client in ("client-c", "client-cpp"):
            with self.subTest(client):
                self.assert_runs(build / client)
        self.assert_every(build / "client-every")
        symbols = run("nm", "-D", "--undefined-only", build / "client-every")
        self.assertEqual(set(re.findall(r" (shardrt_\w+)", symbols)), self.declared(), "it calls each function")

    def test_a_newer_version_is_not_found(self):
        project = self.folder / "newer"
        shutil.copytree(CLIENT, project)
        text = (project / "CMakeLists.txt").read_text()
        (project / "CMakeLists.txt").write_text(text.replace("shardrt 0.1", "shardrt 0.99"))
        command = [CMAKE, "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn('requested version "0.99"', done.stderr)

    def test_clients_by_pkg_config(self):
        environment = os.environ | {"PKG_CONFIG_PATH": str(self.libraries / "pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "shardrt", env=environment).split()
        for compiler, source in (("cc", "client.c"), ("c++", "client.cpp")):
            with self.subTest(source):
                client = self.folder / f"{source}.out"
                run(compiler, CLIENT / source, "-o", client, *flags)
                self.assert_runs(client, LD_LIBRARY_PATH=str(self.libraries))

    def test_clients_that_were_built_before(self):
        """The ABI stays: programs of each version, built when it was made (client/built/README.md), run with the library of this one."""
        for name, asserts in (("client", self.assert_runs), ("every", self.assert_every)):
            kept = sorted((CLIENT / "built").glob(f"{name}-*"))
            self.assertGreater(len(kept), 0)
            for client in kept:
                with self.subTest(client.name):
                    if not client.name.endswith(platform.machine()):
                        self.skipTest("of another processor")
                    asserts(client, LD_LIBRARY_PATH=str(self.libraries))


if __name__ == "__main__":
    unittest.main()
