"""The checks of tools/dev: this tree passes them, and each mistake they are for is found."""

import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(tool, root):
    """Exit status and output of a check over `root`."""
    done = subprocess.run([ROOT / "tools/dev" / tool, root], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


class CheckTest(unittest.TestCase):
    def in_tree(self, tool, files):
        """What the tool says of a tree that holds just these files."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            subprocess.run(["git", "init", "-q"], cwd=root, check=True)
            subprocess.run(["git", "add", "-A"], cwd=root, check=True)
            return check(tool, root)

    def assert_rejects(self, tool, files, complaint):
        status, output = self.in_tree(tool, files)
        self.assertEqual(status, 1, output)
        self.assertIn(complaint, output)

    def assert_accepts(self, tool, files):
        status, output = self.in_tree(tool, files)
        self.assertEqual(status, 0, output)


class Layering(CheckTest):
    def includes(self, file, include, opening="#include"):
        return {file: f'\n{opening} "{include}"\n'}

    def test_holds_here(self):
        status, output = check("check-layering", ROOT)
        self.assertEqual(status, 0, output)

    def test_lets_upper_layers_include_lower_ones(self):
        for file, include in [
            ("tools/shardc/main.cpp", "compiler/Pipeline.h"),
            ("tools/shardrun/main.cpp", "runtime/stage/Program.h"),
            ("passes/shard/PropagateShardings.cpp", "dialects/dist/Sharding.h"),
            ("compiler/package/Writer.cpp", "runtime/artifact/Format.h"),
            ("dialects/onnx/Weight.cpp", "runtime/base/Hash.h"),
            ("runtime/stage/Program.cpp", "runtime/base/Status.h"),
            ("dialects/onnx/ops/MatMul.cpp", "../Dialect.h"),
        ]:
            with self.subTest(file=file, include=include):
                self.assert_accepts("check-layering", self.includes(file, include))

    def test_rejects_a_dialect_that_knows_a_pass(self):
        files = self.includes("dialects/dist/Mesh.cpp", "passes/shard/Propagation.h")
        self.assert_rejects("check-layering", files, "dialects/dist/Mesh.cpp:2: dialects includes passes/shard/")

    def test_rejects_the_same_in_tablegen_and_by_a_relative_path(self):
        files = self.includes("passes/Passes.td", "compiler/Pipeline.td", "include")
        self.assert_rejects("check-layering", files, "passes includes compiler/Pipeline.td")
        files = self.includes("passes/shard/Cost.cpp", "../../compiler/report/Cost.h")
        self.assert_rejects("check-layering", files, "passes includes compiler/report/Cost.h")

    def test_rejects_a_runtime_that_knows_the_compiler_or_llvm(self):
        for include in ["dialects/rt/Ops.h", "compiler/package/Writer.h", "mlir/IR/Types.h", "llvm/ADT/SmallVector.h"]:
            with self.subTest(include=include):
                files = self.includes("runtime/rank/Rank.h", include)
                self.assert_rejects("check-layering", files, f"the runtime includes {include}")

    def test_rejects_a_room_that_knows_a_later_one(self):
        files = self.includes("runtime/tensor/Ownership.h", "runtime/kernels/Kernel.h")
        self.assert_rejects("check-layering", files, "runtime/tensor includes runtime/kernels/Kernel.h: tensor comes before kernels")
        files = self.includes("runtime/device/cuda/CudaStream.h", "runtime/stage/Stage.h")
        self.assert_rejects("check-layering", files, "device comes before stage")
        files = self.includes("runtime/misc/Things.h", "runtime/base/Status.h")
        self.assert_rejects("check-layering", files, "runtime/misc is no room")
        self.assert_accepts("check-layering", self.includes("runtime/collectives/net/NetworkChannel.h", "runtime/collectives/StageChannel.h"))

    def test_rejects_planning_that_knows_ir(self):
        for include in ["mlir/IR/Value.h", "dialects/onnx/Onnx.h", "passes/shard/FunctionGraph.h"]:
            with self.subTest(include=include):
                files = self.includes("passes/plan/Graph.h", include)
                self.assert_rejects("check-layering", files, f"planning includes {include}: it knows no IR")
        for include in ["dialects/dist/algebra/Mesh.h", "llvm/ADT/DenseMap.h", "passes/plan/Plan.h"]:
            with self.subTest(include=include):
                self.assert_accepts("check-layering", self.includes("passes/plan/Graph.h", include))

    def test_rejects_a_compiler_that_knows_more_of_the_runtime_than_the_artifact(self):
        files = self.includes("compiler/package/Writer.cpp", "runtime/kernels/Kernel.h")
        self.assert_rejects("check-layering", files, "compiler includes runtime/kernels/Kernel.h: only")


class Style(CheckTest):
    def test_holds_here(self):
        status, output = check("check-style", ROOT)
        self.assertEqual(status, 0, output)

    def test_accepts_a_clean_file(self):
        self.assert_accepts("check-style", {"a.cpp": "// TODO(a second backend): choose it here.\nint a;\n"})

    def test_rejects_unformatted_cpp(self):
        self.assert_rejects("check-style", {"a.cpp": "int   a ;\n"}, "a.cpp:1: not formatted")

    def test_warns_of_long_files_and_rejects_longer_ones(self):
        status, output = self.in_tree("check-style", {"a.py": "\n" * 401})
        self.assertEqual((status, output), (0, "a.py:401: warning: over 400 lines\n"))
        self.assert_rejects("check-style", {"a.py": "\n" * 601}, "a.py:601: over 600 lines")

    def test_rejects_an_open_task_that_waits_for_nothing(self):
        self.assert_rejects("check-style", {"a.py": "# TO" + "DO: faster\n"}, "a.py:1: an open task")

    def test_rejects_paths_of_a_machine_and_hosts_of_registries(self):
        self.assert_rejects("check-style", {"a.sh": "cd /ho" + "me/me\n"}, "a.sh:1: an absolute path")
        self.assert_rejects("check-style", {"a.sh": "get pypi" + ".org\n"}, "a.sh:1: the host of a package registry")


if __name__ == "__main__":
    unittest.main()
