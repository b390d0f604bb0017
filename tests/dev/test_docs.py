"""tools/dev/docs: every pass is documented, and its example is a test that runs it."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PASS = re.compile(r'^def \w+ : Pass<"([\w-]+)"(.*?)^}$', re.M | re.S)


class DocsTest(unittest.TestCase):
    def test_each_pass_has_an_example_that_runs_it(self):
        files = sorted((ROOT / "passes").glob("*/Passes.td"))
        passes = [(name, body) for file in files for name, body in PASS.findall(file.read_text())]
        self.assertGreater(len(passes), 20)
        for name, body in passes:
            with self.subTest(name):
                self.assertIn("Requires: ", body)
                self.assertIn("Ensures: ", body)
                example = re.search(r"\(\* example filepath=(\S+) \*\)", body)
                self.assertTrue(example, "names no example")
                runs = [line for line in (ROOT / example[1]).read_text().splitlines() if line.startswith("// RUN:")]
                self.assertTrue(any("--" + name in run for run in runs), runs)

    def test_pages_hold_the_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ROOT / "tools/dev/docs", "-o", folder], check=True, stdout=subprocess.DEVNULL)
            pages = {page.name: page.read_text() for page in Path(folder).iterdir()}
        self.assertEqual(sorted(pages), ["dist.md", "onnx.md", "passes.md", "rt.md"])
        example = (ROOT / "tests/passes/partition/move-gathers/example.mlir").read_text().strip()
        self.assertIn(example, pages["passes.md"])
        self.assertNotIn("(* example", pages["passes.md"])
        for page, op in [("onnx.md", "onnx.MatMul"), ("dist.md", "dist.all_gather"), ("rt.md", "rt.call")]:
            self.assertIn(f"### `{op}`", pages[page])


if __name__ == "__main__":
    unittest.main()
