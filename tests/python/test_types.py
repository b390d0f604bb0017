"""Types of both packages: what type checkers say of them, and of programs that use them; and the oldest Python that reads them."""

import ast
import dataclasses
import inspect
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from mypy.defaults import PYTHON3_VERSION_MIN

from tests.python import support

import shardrt  # isort: skip
from shardrt import _keywords  # isort: skip

OLDEST = (3, 9)  # that packages ask for
USE = """
import asyncio
import shardc, shardrt

generator = shardrt.Generator("a.shard", batch=4, threads=2, weights_root="model")
text: shardrt.Generation = generator.generate("a", max_tokens=4, stop=["b"], logit_bias={1: 2.0})
texts: list[shardrt.Generation] = generator.generate(["a", [1, 2]], n=2, beams=2)
for piece in generator.stream("a", seed=3, temperature=0.5):
    print(piece.text)
answer: shardrt.Generation = generator.chat([{"role": "user", "content": "a"}], top_k=4)

async def later(server: shardrt.Server) -> None:
    found: shardrt.Generation = await generator.generate_async("a", max_tokens=3)
    async for token in server.stream([1], max_tokens=2, choose=shardrt.Chooser()):
        print(token.id, found.text)
    ids: list[int] = await server.generate([1], deadline=2.0)

session = shardrt.Session("a.shard")
outputs: list[dict[str, object]] = list(session.run_batch([{"ids": [1]}]))
with session.pool(64) as pool:
    pool.step_batch([[shardrt.Row(pool.sequence(), {"ids": [1]})]])
plan: shardc.Plan = shardc.explain("a.onnx", tp=2)
asyncio.run(later(shardrt.Server("a.shard", step_rows=3, device="host")))
"""
# Each by itself an error, with what is said of it.
MISTAKES = (("generator.generate('a', temprature=1.0)", "temprature"), ("generator.generate('a', seed='x')", 'types "str", "str"'),
            ("generator.stream('a', max_token=3)", "max_token"), ("generator.chat([], topk=3)", "topk"),
            ("shardrt.Generator('a', dvice='host')", "dvice"), ("shardrt.Server('a', step_row=3)", "step_row"),
            ("server.stream([1], max_token=3)", "max_token"), ("server.stream([1], listener=print)", "listener"),
            ("session.run_batch([{}], state=None)", "state"))  # fmt: skip


class Sources(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    def mypy(self, *arguments):
        version = max(PYTHON3_VERSION_MIN, OLDEST)
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.folder / "cache", "--python-version", "%d.%d" % version]
        environment = os.environ | {"MYPYPATH": os.pathsep.join(map(str, support.PACKAGES))}
        return subprocess.run([*map(str, (*command, *arguments))], capture_output=True, text=True, env=environment)

    def test_types(self):
        """As of the oldest Python that mypy knows: what younger ones added to the language or the library is an error."""
        packages = [next(package.glob("*/py.typed")).parent for package in support.PACKAGES]
        done = self.mypy(*packages)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_programs(self):
        mistakes = "".join(f"def mistake{i}(generator: shardrt.Generator, server: shardrt.Server, session: shardrt.Session) -> None:\n"
                           f"    {code}\n" for i, (code, _) in enumerate(MISTAKES))  # fmt: skip
        (file := self.folder / "use.py").write_text(USE + mistakes)
        done = self.mypy(file)
        said = [line for line in done.stdout.splitlines() if ": error: " in line]
        first = USE.count("\n") + 2
        for number, (code, what) in enumerate(MISTAKES):
            of_it = [line for line in said if line.startswith(f"{file}:{first + 2 * number}:")]
            self.assertTrue(any(what in line for line in of_it), f"{code}: {done.stdout}")
            said = [line for line in said if line not in of_it]
        self.assertEqual(said, [], "what is right")

    def test_keywords_are_those_of_what_takes_them(self):
        def annotations(function, *without):
            found = inspect.signature(function).parameters.values()
            return {each.name: each.annotation for each in found if each.name not in ("self", *without)}

        for keywords, expected in (
            (_keywords.OptionsKeywords, {field.name: field.type for field in dataclasses.fields(shardrt.Options)}),
            (_keywords.SessionKeywords, annotations(shardrt.Session.__init__, "artifact")),
            (_keywords.SubmitKeywords, annotations(shardrt.Server.submit, "prompt", "listener")),
        ):
            self.assertEqual({name: typed.__forward_arg__ for name, typed in keywords.__annotations__.items()}, expected)

    def test_read_by_the_oldest_python(self):
        files = [file for package in support.PACKAGES for file in package.rglob("*.py")]
        self.assertGreater(len(files), 10)
        for file in files:
            with self.subTest(file.name):
                ast.parse(file.read_text(), feature_version=OLDEST)

    def test_taken_of_the_oldest_python(self):
        """Of its library nothing that came later, but where a younger one is asked for."""

        def vermin(*arguments):
            command = [Path(sys.executable).parent / "vermin", "--target=%d.%d-" % OLDEST, "--violations", *arguments]
            return subprocess.run([*map(str, command)], capture_output=True, text=True)

        (file := self.folder / "later.py").write_text("import asyncio\nasyncio.timeout(3)\n")
        self.assertRegex(vermin(file).stdout, "asyncio.timeout.* requires .*3.11")
        done = vermin(*support.PACKAGES)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
