"""Artifacts that earlier versions wrote run as they did, and those of other formats say who made them."""

import json
import re
import shutil

from tests.support import ROOT, EndToEnd, data_sets, program

KEPT = ROOT / "tests/artifacts"
HEADER = (ROOT / "runtime/artifact/FormatVersion.h").read_text()
CURRENT, OLDEST = (int(re.search(rf"{name} = (\d+)", HEADER)[1]) for name in ("kFormatVersion", "kOldestFormat"))
EXPECTED = f"expected {CURRENT}" if OLDEST == CURRENT else f"expected {OLDEST} or {CURRENT}"
REQUESTS = {"llama": "llama-dynamo-op18", "decoder": "llama-genai-int4"}


class KeptArtifacts(EndToEnd):
    def artifacts(self):
        for folder in sorted(KEPT.glob("*/*/manifest.json")):
            yield folder.parent, json.loads(folder.read_text())

    def test_there_is_one_of_each_format_that_opens(self):
        self.assertEqual({int(folder.parent.name) for folder, _ in self.artifacts()}, set(range(OLDEST, CURRENT + 1)))
        for folder, manifest in self.artifacts():
            self.assertEqual(manifest["format"], int(folder.parent.name), folder)

    def test_they_run(self):
        for folder, manifest in self.artifacts():
            for data in data_sets(REQUESTS[folder.name.split("-")[0]]):
                with self.subTest(artifact=folder, data=data.name):
                    if "page" in manifest:
                        self.assert_same_texts(folder)
                        break
                    said = self.run_ok("shardrun", folder, "--inputs", data, "--expect", data)
                    self.assertIn("of the tolerance", said)

    def assert_same_texts(self, folder):
        """As an artifact that this version makes has them."""
        texts = [{"prompt": [1, 2, 3, 4], "tokens": 12}, {"prompt": list(range(40)), "tokens": 6}]
        (self.folder / "texts.json").write_text(json.dumps(texts))
        model = folder / json.loads((folder / "manifest.json").read_text())["model_root"] / "model.onnx"
        self.run_ok("shardc", model, "--serve", "--tp", "2", "-o", self.folder / "now.shard")
        found = []
        for artifact in (folder, self.folder / "now.shard"):
            self.run_ok("shardrun", artifact, "--cache", "256", "--texts", self.folder / "texts.json", "--outputs", self.folder / "out.json")
            found.append([text["tokens"] for text in json.loads((self.folder / "out.json").read_text())])
        self.assertEqual(*found)
        self.assertEqual([len(tokens) for tokens in found[0]], [12, 6])

    def test_what_the_compiler_reads_of_them(self):
        for folder, _ in self.artifacts():
            with self.subTest(artifact=folder):
                self.assertIn("collectives per run", self.run_ok("shardc", "explain", folder))

    def test_other_formats_say_who_made_them(self):
        folder = self.folder / "other.shard"
        shutil.copytree(next(self.artifacts())[0], folder)
        manifest = json.loads((folder / "manifest.json").read_text())
        for version, tool, words in (
            (CURRENT + 1, "shardc 7.0.0", [f"format {CURRENT + 1} of shardc 7.0.0", EXPECTED, "the runtime of the one that made it"]),
            (OLDEST - 1, "shardc 0.0.1", [f"format {OLDEST - 1} of shardc 0.0.1", "compile the model again with shardc"]),
            (CURRENT + 1, None, [f"artifact format {CURRENT + 1}, expected"]),
            (CURRENT + 1, "x" * 1000, [f"artifact format {CURRENT + 1}, expected"]),
        ):  # fmt: skip
            with self.subTest(version=version, tool=tool):
                (folder / "manifest.json").write_text(json.dumps(manifest | {"format": version, "tool": tool}))
                done = program("shardrun", folder, "--inputs", data_sets("llama-dynamo-op18")[0])
                self.assertEqual(done.returncode, 4, done.stderr)
                for part in words:
                    self.assertIn(part, done.stderr)

    def test_versions(self):
        version = re.search(r'MAJOR (\d+).*MINOR (\d+).*PATCH (\d+)', (ROOT / "runtime/api/shardrt.h").read_text(), re.DOTALL)
        number = ".".join(version.groups())
        for name in ("shardc", "shardrun"):
            first, *rest = self.run_ok(name, "--version").splitlines()
            self.assertRegex(first, rf"^{name} {number}( \([0-9a-f]{{12}}\))?$")
            self.assertEqual(rest[-1], f"artifact format {CURRENT}" + (f", opens {OLDEST} too" if OLDEST < CURRENT else ""))
        for package in ("shardc", "shardrt"):
            self.assertIn(f'version = "{number}"', (ROOT / "python" / package / "pyproject.toml").read_text())
            self.assertIn(f'__version__ = "{number}"', (ROOT / "python" / package / package / "__init__.py").read_text())
        self.assertIn(f"## {number}", (ROOT / "CHANGELOG.md").read_text())
