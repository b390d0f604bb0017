"""docs/reference is what the sources say, and docs/develop names files that there are."""

import re
import subprocess
import unittest

from tests.docs.page import run_page
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
        self.assertEqual(run_page(self, "develop/lives.md"), 4)
