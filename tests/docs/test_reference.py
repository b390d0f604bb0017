"""docs/reference is what the sources say, and docs/develop names files that there are."""

import ast
import importlib
import pkgutil
import re
import subprocess
import unittest

from tests.docs.page import run_page
from tests.python import support
from tests.support import ROOT, EndToEnd, model_file

FILE = re.compile(r"`((?:dialects|passes|compiler|runtime|tools|tests|python)/[\w./-]+)`")


class Reference(unittest.TestCase):
    def test_pages_are_as_the_sources_say(self):
        done = subprocess.run([ROOT / "tools/dev/reference", "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_all_functions_of_c_are_there(self):
        header = "".join((ROOT / "runtime/api" / name).read_text() for name in ("shardrt.h", "shardrt_server.h", "shardrt_statistics.h"))
        page = (ROOT / "docs/reference/c.md").read_text()
        exported = re.findall(r"(shardrt_\w+);", (ROOT / "runtime/api/shardrt.map").read_text())
        for name in exported or re.findall(r"^\w[\w *]*?(shardrt_\w+)\(", header, re.MULTILINE):
            self.assertIn(f"{name}(", page)

    def test_initialisers_of_cpp_are_whole(self):
        page = (ROOT / "docs/reference/cpp.md").read_text()
        self.assertNotRegex(page, r"=\s*;")
        self.assertEqual(page.count("("), page.count(")"))


def sources(package):
    """Its modules, by name, and the names of each that are public: of the package, or of a module with an __all__ of its own."""
    for file in sorted((ROOT / "python" / package.__name__ / package.__name__).glob("*.py")):
        module = importlib.import_module(f"{package.__name__}.{file.stem}") if file.stem[0] != "_" else None
        if module is not None:
            yield file, module, set(package.__all__) | set(getattr(module, "__all__", ()))


class Python(unittest.TestCase):
    PACKAGES = [importlib.import_module(path.name) for path in support.PACKAGES]
    PAGE = (ROOT / "docs/reference/python.md").read_text()

    def headings(self, level):
        return re.findall(rf"^{'#' * level} `?([\w.]+)`?$", self.PAGE, re.MULTILINE)

    def test_headings_are_names(self):
        names = self.headings(2) + self.headings(3)
        self.assertEqual(len(names), len(re.findall("^###? ", self.PAGE, re.MULTILINE)))
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            with self.subTest(name):
                self.assertIsNotNone(pkgutil.resolve_name(name))

    def test_what_is_public_is_there(self):
        found = set(self.headings(2))
        for package in self.PACKAGES:
            expected = {f"{package.__name__}.{name}" for name in package.__all__}
            self.assertEqual(expected - found, set())
            for name in {each for each in found if each.startswith(f"{package.__name__}.")} - expected:
                module, _, last = name.rpartition(".")
                self.assertIn(last, importlib.import_module(module).__all__)

    def test_what_is_public_says_what_it_is(self):
        """Classes, functions, methods and fields, which are declared in their class, and not where they are set alone."""
        methods = set(self.headings(3))
        for package in self.PACKAGES:
            for file, _, public in sources(package):
                for node in ast.parse(file.read_text()).body:
                    if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name in public:
                        self.check_documented(file.stem, node, methods)

    def check_documented(self, where, node, methods):
        self.assertTrue(ast.get_docstring(node), f"{where}.{node.name}")
        if not isinstance(node, ast.ClassDef):
            return
        declared, set_at_once = set(), set()
        for each, following in zip(node.body, [*node.body[1:], None], strict=True):
            name = f"{where}.{node.name}.{getattr(each, 'name', '')}"
            if isinstance(each, ast.AnnAssign) and each.target.id[0] != "_":
                declared.add(each.target.id)
                said = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
                self.assertTrue(said, f"{name}{each.target.id}: a string below it")
            elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) and each.name[0] != "_":
                marks = {ast.unparse(mark) for mark in each.decorator_list}
                self.assertTrue("overload" in marks or ast.get_docstring(each), name)
                if "property" not in marks:
                    self.assertTrue(any(method.endswith(f".{node.name}.{each.name}") for method in methods), name)
            elif isinstance(each, ast.FunctionDef) and each.name == "__init__":
                set_at_once = {found.attr for found in ast.walk(each) if isinstance(found, ast.Attribute)
                               and isinstance(found.ctx, ast.Store) and ast.unparse(found.value) == "self"}  # fmt: skip
        if not any("Error" in ast.unparse(base) for base in node.bases):  # whose fields those of others are
            self.assertEqual({name for name in set_at_once if name[0] != "_"} - declared, set(), node.name)

    def test_what_docstrings_become(self):
        self.assertIn("- `stop: Sequence[str] = ()`: The text ends before any of these strings", self.PAGE)
        self.assertIn("\nAs compile, without writing an artifact: what a plan would be.\n", self.PAGE)
        self.assertIn("\n- `step_tokens`, `step_rows`: of a step at most; prompts come in parts.\n", self.PAGE)
        self.assertIn('\n```python\nids, logits = np.zeros((1, 8), np.int64), np', self.PAGE)
        text = re.sub(r"(?ms)^```.*?^```$", "", self.PAGE)
        self.assertNotRegex(text, r"(?m)^    ")  # an example that is no block of code
        self.assertNotRegex(text, r"(?m)^\w+(, \w+)*: ")  # an argument that is no entry of a list
        self.assertNotIn("shardrt.statistics.statistics_of", text)


class Develop(EndToEnd):
    def test_files_that_pages_name_are_there(self):
        named = 0
        for page in (ROOT / "docs").rglob("*.md"):
            if page.parent.name == "reference":
                continue
            for name in FILE.findall(page.read_text()):
                if re.search("[A-Z]{4}", name):  # tests/passes/PHASE/NAME
                    continue
                self.assertTrue((ROOT / name).exists() or list(ROOT.glob(name + ".*")), f"{page.name}: {name}")
                named += 1
        self.assertGreater(named, 60)

    def test_lives(self):
        source = model_file("llama-dynamo-op18").parent
        for file in source.iterdir():
            (self.folder / file.name).symlink_to(file)
        self.assertEqual(len(run_page(self, "develop/lives.md")), 4)
