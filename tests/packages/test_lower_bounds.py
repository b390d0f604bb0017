"""shardrt with the lowest versions that it allows of what it needs: installed by pip, and tests run with them."""

import os
import re
import subprocess
import tempfile
import tomllib
import unittest
import venv
from pathlib import Path

from tests.support import BUILD, ROOT

# What tests import beside, at the versions of tools/dev/requirements.txt.
TOOLS = ("httpx", "onnx", "onnxruntime", "openai")
TESTS = (
    "tests.python.test_shardrt.Llama",
    "tests.python.test_shardrt.Types",
    "tests.python.test_generator.Texts.test_greedy",
    "tests.python.test_generator.Texts.test_samples",
    "tests.python.test_generator.Texts.test_chats",
    "tests.python.test_tokenizer",
    "tests.python.test_sampling",
    "tests.python.test_server.Texts",
    "tests.python.test_serve.Completions",
    "tests.python.test_serve.Keys",
    "tests.python.test_serve_models.Tensors",
)
NO_NETWORK = re.compile(r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError|Network is unreachable")


def lowest():
    """All that shardrt and its extras need, as pip takes it."""
    project = tomllib.loads((ROOT / "python/shardrt/pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    return sorted({line.replace(">=", "==") for line in lines})


def tools():
    pinned = (ROOT / "tools/dev/requirements.txt").read_text().splitlines()
    return [line for line in pinned if line.partition("==")[0] in TOOLS]


class LowerBounds(unittest.TestCase):
    def test_they_are_enough(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        venv.create(folder.name, with_pip=True, symlinks=True)
        python = Path(folder.name) / "bin/python"
        wanted = [*lowest(), *tools()]
        install = [python, "-m", "pip", "install", "-q", "--no-compile", "--retries", "1", "--only-binary", ":all:", *wanted]
        done = subprocess.run(install, capture_output=True, text=True, timeout=900)
        if done.returncode != 0 and NO_NETWORK.search(done.stderr):
            self.skipTest("no network: pip cannot install the lowest versions of what shardrt needs")
        self.assertEqual(done.returncode, 0, f"{wanted}: {done.stdout[-2000:]}{done.stderr[-3000:]}")
        run = subprocess.run([python, "-m", "unittest", *TESTS], cwd=ROOT, env=os.environ | {"SHARDC_TEST_BUILD": str(BUILD)},
                             capture_output=True, text=True, timeout=900)  # fmt: skip
        self.assertEqual(run.returncode, 0, f"with {wanted}: {run.stderr[-6000:]}")
        self.assertGreater(int(re.search(r"^Ran (\d+) tests", run.stderr, re.MULTILINE)[1]), 30)
        self.assertNotIn("skipped", run.stderr.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
