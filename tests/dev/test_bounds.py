"""What others make and this tree uses is named with the lowest version that is tested: of Debian's packages the one that is built
with, of Python's the one that tests/packages/test_lower_bounds.py installs."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Whose package has which version, by the name that CMake files have.
DEBIAN = {"MLIR": "libmlir-22-dev", "LLD": "liblld-22-dev", "Protobuf": "libprotobuf-dev", "nlohmann_json": "nlohmann-json3-dev",
          "CLI11": "libcli11-dev", "GTest": "libgtest-dev", "OpenSSL": "libssl-dev", "ZLIB": "zlib1g-dev", "ucx": "libucx-dev",
          "flatc": "flatbuffers-compiler", "xxhash": "libxxhash-dev", "oneDNN": "libdnnl-dev"}  # fmt: skip
# Threads come with the system, shardrt is this tree's, CUDA's libraries are looked at one by one; OpenMP and MPI have the versions of
# their standards.
OTHERS = {"Threads": None, "shardrt": "0.1", "CUDAToolkit": None, "OpenMP": "4.5", "MPI": "3.1"}


def cmake_bounds():
    """Triples of file, name and version."""
    listed = subprocess.run(["git", "ls-files", "*CMakeLists.txt", "*.cmake"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for file in listed.split():
        text = (ROOT / file).read_text()
        for call in re.finditer(r"^ *(?:find_package|shardc_require_version)\((\w+)([^)]*)\)", text, re.MULTILINE):
            version = re.search(r"(?<= )\d[\d.]*(?= |$)", call[2])
            yield file, call[1], version and version[0]


class CMake(unittest.TestCase):
    def test_each_package_has_the_version_that_is_built_with(self):
        pins = dict(re.findall(r"^([\w-]+)==([\d.]+)$", (ROOT / "tools/dev/requirements.txt").read_text(), re.MULTILINE))
        found = list(cmake_bounds())
        self.assertLessEqual(DEBIAN.keys(), {name for _, name, _ in found})
        for file, name, version in found:
            with self.subTest(file=file, name=name):
                if name in OTHERS:
                    self.assertEqual(version, OTHERS[name])
                elif name == "ONNX":
                    self.assertEqual(version, pins["onnx"])
                else:
                    self.assertIsNotNone(version)
                    self.assert_is_installed(DEBIAN[name], version)

    def assert_is_installed(self, package, version):
        if not shutil.which("dpkg-query"):
            self.skipTest("this is no Debian")
        done = subprocess.run(["dpkg-query", "-W", "-f=${Version}\n", package], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest(f"{package} is not installed")
        installed = done.stdout.split()[0].split(":")[-1]
        self.assertRegex(installed, rf"^{re.escape(version)}\b", f"{package}: another version is tested")


def run_nodes(node):
    """All below it but what is under `if TYPE_CHECKING:`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and getattr(child.test, "id", None) == "TYPE_CHECKING"):
            yield from run_nodes(child)


def imported(package):
    """Modules of others, by where they are imported; also those that are when they are needed, but none for type checkers alone."""
    for file in sorted((ROOT / "python" / package / package).rglob("*.py")):
        for node in run_nodes(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", None)) in ("need", "import_module"):
                names = [argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)]
            for name in (name.partition(".")[0] for name in names):
                if name and name not in sys.stdlib_module_names and name != package:
                    yield name, file.relative_to(ROOT)


class Python(unittest.TestCase):
    def test_what_is_imported_is_named_with_a_bound(self):
        for package in ("shardrt", "shardc"):
            project = tomllib.loads((ROOT / "python" / package / "pyproject.toml").read_text())["project"]
            extras = project.get("optional-dependencies", {}).values()
            bounds = {}
            for line in [*project.get("dependencies", []), *(line for extra in extras for line in extra)]:
                name, _, version = line.partition(">=")
                self.assertRegex(version, r"^\d+(\.\d+)*$", f"{package}: {line} has no lower bound")
                self.assertEqual(bounds.setdefault(name, version), version, f"{package}: {name} has two bounds")
            found = dict(imported(package))
            self.assertEqual(sorted(found), sorted(bounds), f"{package} imports {found}")


if __name__ == "__main__":
    unittest.main()
