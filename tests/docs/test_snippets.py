"""Whatever stands in README.md or docs/ as code is run by a test, or is in the table here that says why it is not."""

import re
import unittest

from tests.docs.page import difference
from tests.docs.snippets import snippets
from tests.support import ROOT

PAGES = "tests.docs.test_pages.Pages."
GUIDES = "tests.docs.test_guides.Guides."
# The test that runs all commands of a page that begin with `$`.
COMMANDS = {
    "docs/70b-on-128-h100.md": GUIDES + "test_70b_on_128_h100",
    "docs/bitwise.md": PAGES + "test_bitwise",
    "docs/compile.md": PAGES + "test_compile",
    "docs/deploy.md": PAGES + "test_deploy",
    "docs/develop/lives.md": "tests.docs.test_reference.Develop.test_lives",
    "docs/errors.md": "tests.docs.test_errors.Programs.test_errors",
    "docs/formats.md": PAGES + "test_formats",
    "docs/generate.md": "tests.docs.test_generate_guide.Guide.test_blocks_and_commands",
    "docs/read-a-plan.md": PAGES + "test_read_a_plan",
    "docs/run.md": PAGES + "test_run",
    "docs/serve.md": "tests.docs.test_serve_guide.Guide.test_commands_and_blocks",
    "docs/start.md": PAGES + "test_start",
    "docs/which-strategy.md": GUIDES + "test_which_strategy",
}
# The test that runs all its blocks of Python.
PYTHON = {
    "docs/errors-of-python-and-server.md": "tests.docs.test_errors.PythonAndServer.test_errors",
    "docs/generate.md": "tests.docs.test_generate_guide.Guide.test_blocks_and_commands",
    "docs/python.md": "tests.docs.test_python_guide.Guide.test_blocks",
    "docs/serve.md": "tests.docs.test_serve_guide.Guide.test_commands_and_blocks",
    "docs/start.md": PAGES + "test_start",
}
PICTURE = "not run: a picture"
INDEX = "not run: needs an index of packages; tests.packages.test_wheels installs the wheels"
# All else, by how it begins: the tests that run it, or why none does.
OTHERS = {
    ("README.md", "./run-demo"): "not run: they build, and run all tests, this one among them",
    ("README.md", "shardc model.onnx --tp 2"): "tests.docs.test_readme.Readme.test_commands",
    ("README.md", "shardc plan model.onnx"): "tests.docs.test_readme.Readme.test_commands",
    ("README.md", "import numpy"): "tests.docs.test_readme.Readme.test_python",
    ("README.md", "              +-- rank 0"): PICTURE,
    ("docs/bitwise.md", "without            with --bitwise"): PICTURE,
    ("docs/compile.md", "shardc from-hf"): "tests.e2e.test_from_hf.FromHf.test_a_decoder_by_the_model_builder",
    ("docs/compile.md", '{"nodes": 4'): PAGES + "test_machines",
    ("docs/develop/README.md", "model.onnx\n   |"): PICTURE,
    ("docs/develop/tests.md", "tools/dev/build"): "not run: they build, and start whole suites, this test among them",
    ("docs/generate.md", "pip install"): INDEX,
    ("docs/install.md", ".venv/bin/cmake --install"): "tests.packages.test_install, tests.packages.test_wheels, tests.packages.test_debs",
    ("docs/install.md", "import numpy"): "tests.docs.test_readme.Install.test_python",
    ("docs/onnx-in-and-out.md", "annotations:"): GUIDES + "test_onnx_in_and_out",
    ("docs/python.md", "tools/dev/build"): "tests.packages.test_wheels",
    ("docs/python.md", "PYTHONPATH="): "tests.docs.test_python_guide.Guide.test_build_of_this_tree",
    ("docs/read-a-plan.md", "max all_reduce per layer"): PAGES + "test_read_a_plan",
    ("docs/read-a-plan.md", "// RUN:"): PAGES + "test_file_check",
    ("docs/serve.md", "pip install"): INDEX,
    ("docs/serve.md", "torchrun"): "tests.docs.test_serve_guide.Guide.test_launcher",
}


def pages():
    others = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference")
    return {str(page.relative_to(ROOT)): page for page in [ROOT / "README.md", *others]}


class Snippets(unittest.TestCase):
    def test_each_is_run(self):
        used = set()
        for name, page in pages().items():
            for each in snippets(page):
                with self.subTest(page=name, line=each.line):
                    if each.kind == "commands":
                        self.assertIn(name, COMMANDS)
                    elif each.kind in ("python", "shown"):
                        self.assertIn(name, PYTHON)
                    else:
                        found = [key for key in OTHERS if key[0] == name and each.text.startswith(key[1])]
                        self.assertEqual(len(found), 1, each.text)
                        used.update(found)
        self.assertEqual(set(OTHERS) - used, set(), "of snippets that are no longer there")

    def test_tests_that_are_named(self):
        """They are there, and open the page."""
        for table in (COMMANDS, PYTHON):
            for page, test in table.items():
                with self.subTest(page=page):
                    self.assertTrue((ROOT / page).exists())
                    self.assertIn(page.rpartition("/")[2], self.source(test))
        for (page, beginning), tests in OTHERS.items():
            for test in tests.split(", ") if not tests.startswith("not run: ") else []:
                with self.subTest(page=page, snippet=beginning):
                    self.assertTrue(self.source(test))

    def source(self, test):
        """Of the file of a test: package.module, or package.module.Class.method."""
        found = re.fullmatch(r"([a-z_0-9.]+)(?:\.([A-Z]\w*)\.(\w+))?", test)
        text = (ROOT / f"{found[1].replace('.', '/')}.py").read_text()
        if found[2]:
            self.assertIn(f"class {found[2]}(", text)
            self.assertIn(f"def {found[3]}(", text)
        return text

    def test_kinds(self):
        page = ROOT / "docs/read-a-plan.md"
        kinds = [each.kind for each in snippets(page)]
        self.assertEqual(set(kinds), {"commands", "other"})
        python = snippets(ROOT / "docs/python.md")
        self.assertEqual([each.kind for each in python if "<shardrt.Session" in each.text], ["shown"])
        for each in python:
            self.assertEqual((ROOT / "docs/python.md").read_text().splitlines()[each.line - 1].strip(), each.lines[0])


class Matching(unittest.TestCase):
    def test_lines(self):
        said = ["one  two", "three 12.5 ms", "", "four"]
        for shown in (["one two", "...", "four"], ["...", "three ... ms", "four"], ["one two", "three ... ms", "four"], ["..."],
                      ["...", "three ... ms", "..."], ["one two", "...", "three ... ms", "...", "four"]):  # fmt: skip
            self.assertIsNone(difference(shown, said), shown)
        self.assertIsNone(difference([], ["", " "]))

    def test_lines_that_differ(self):
        said = ["one  two", "three 12.5 ms", "four"]
        for shown, wrong in ((["four", "one two"], "four"), (["one two", "...", "three ... s", "four"], "three ... s"), (["fo"], "fo"),
                             ([], "one  two"), (["one two"], "three 12.5 ms"), (["three ... ms", "..."], "three ... ms"),
                             (["...", "one two"], "one two"), (["...", "four", "...", "four"], "four"), (["one two", "...", "five", "..."], "five"),
                             (["one two", "three ... ms", "four", "five"], "five")):  # fmt: skip
            self.assertEqual(difference(shown, said), wrong, shown)
