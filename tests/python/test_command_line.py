"""The program shardrt: the texts of shardrt.Generator from a shell."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import unittest
from unittest import mock

from tests.python import support
from tests.python.served_decoder import PROMPT, Served
from tests.support import BIN, model_file, program

import shardrt  # isort: skip
from shardrt.cli import generate, main  # isort: skip


class Generate(Served):
    def shardrt(self, *arguments, given=None, **more):
        command = [sys.executable, "-m", "shardrt", *map(str, arguments)]
        return subprocess.run(command, cwd=support.PACKAGES[0], capture_output=True, text=True, input=given, timeout=120,
                              env=os.environ | more)  # fmt: skip

    def generate(self, *arguments, given=None):
        done = self.shardrt("generate", self.artifact, "--tokenizer", self.folder, *arguments, given=given)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_texts(self):
        expected = self.open().generate(["hello", "you"], max_tokens=6)
        self.assertEqual(self.generate("--prompt", "hello", "--max-tokens", 6), expected[0].text + "\n")
        self.assertEqual(self.generate("--max-tokens", 6, given="you\n"), expected[1].text + "\n")
        self.assertEqual(self.generate("--prompt", "hello", "--prompt", "you", "--max-tokens", 6),
                         f"[0.0] {expected[0].text}\n[1.0] {expected[1].text}\n")  # fmt: skip
        chat = self.open().chat([{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}], max_tokens=5)
        self.assertEqual(self.generate("--chat", "--system", "s", "--prompt", "hi", "--max-tokens", 5), chat.text + "\n")
        options = {"max_tokens": 5, "temperature": 1.5, "seed": 3, "n": 2, "stop_ids": [2, 3]}
        flags = ["--max-tokens", 5, "--temperature", 1.5, "--seed", 3, "--n", 2, "--stop-ids", "2,3"]
        lines = self.generate("--prompt-ids", "5,7,11", "--json", *flags).splitlines()
        self.assertEqual([json.loads(line)["ids"] for line in lines],
                         [text.ids for text in self.open().generate([PROMPT], **options)])  # fmt: skip

    def test_biases_and_what_a_chat_template_takes(self):
        bias = {3: 100.0, 5: -2.5}
        expected = self.open().generate("hello", max_tokens=4, logit_bias=bias, stop_ids=[])
        self.assertEqual(self.generate("--prompt", "hello", "--max-tokens", 4, "--logit-bias", "3=100,5=-2.5"), expected.text + "\n")
        template = "{% for m in messages %}{{ m.content }}{% endfor %}{{ tools[0].name }}{{ greeting }}:"
        self.config.write_text(json.dumps({"chat_template": template}))
        (self.folder / "tools.json").write_text('[{"name": "abc"}]')
        messages = [{"role": "user", "content": "hi"}]
        chat = self.open().chat(messages, tools=[{"name": "abc"}], variables={"greeting": "xy"}, max_tokens=5)
        flags = ("--tools", self.folder / "tools.json", "--variables", '{"greeting": "xy"}', "--max-tokens", 5)
        self.assertEqual(self.generate("--chat", "--prompt", "hi", *flags), chat.text + "\n")
        for why, given in (("'3:1' are no biases: expected ID=NUMBER", ("--logit-bias", "3:1")),
                           ("token 4000, expected 0 to", ("--prompt-ids", "5", "--logit-bias", "4000=1")),
                           ("'greeting' is no JSON", ("--variables", "greeting")), ("is no object of JSON", ("--variables", "[1]")),
                           ("'tools' is no variable of your own", ("--variables", '{"tools": []}')),
                           ("--variables is of a chat: give --chat", ("--variables", "{}")),
                           ("--system is of a chat: give --chat", ("--system", "a")),
                           ("tokenizer_config.json is no list", ("--chat", "--tools", self.config)),
                           ("--tools nowhere cannot be read: No such file or directory: expected a file with a list",
                            ("--chat", "--tools", "nowhere"))):  # fmt: skip
            done = self.shardrt("generate", self.artifact, "--tokenizer", self.folder, *given, given="a")
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, why)
            self.assertNotIn("Traceback", done.stderr)

    def shardrun(self, *arguments, **more):
        packages = os.pathsep.join(map(str, support.PACKAGES))
        environment = os.environ | {"SHARDC_PYTHON": sys.executable, "PYTHONPATH": packages} | more
        return subprocess.run([str(BIN / "shardrun"), *map(str, arguments)], capture_output=True, text=True, env=environment,
                              timeout=120)  # fmt: skip

    def test_shardrun_does_the_same_with_a_prompt(self):
        flags = [self.artifact, "--tokenizer", self.folder, "--prompt", "hello", "--max-tokens", 6]
        model = self.artifact / json.loads((self.artifact / "manifest.json").read_text())["model_root"]
        done = self.shardrun(*flags, "--threads", 1, "--weights-root", model, "--timeout", 30)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, self.generate("--prompt", "hello", "--max-tokens", 6))
        ids = self.shardrun(self.artifact, "--tokenizer", self.folder, "--prompt-ids=5,7,11", "--json", "--max-tokens", 3)
        self.assertEqual(len(json.loads(ids.stdout)["ids"]), 3)
        self.assertIn("unrecognized arguments: --inputs", self.shardrun(*flags, "--inputs", "data").stderr)

    def test_shardrun_says_what_a_prompt_needs(self):
        empty = self.folder / "python"
        empty.write_text("#!/bin/sh\nexec " + sys.executable + " -S -I \"$@\"\n")
        empty.chmod(0o755)
        for python, why in ((empty, "no package shardrt"), (self.folder / "none", "does not start")):
            done = self.shardrun(self.artifact, "--prompt", "a", SHARDC_PYTHON=str(python))
            self.assertEqual(done.returncode, 2)
            self.assertIn("pip install 'shardrt[generate]'", done.stderr)
            self.assertIn(why, done.stderr)

    def test_who_reads_may_leave(self):
        command = [sys.executable, "-m", "shardrt", "generate", str(self.artifact), "--tokenizer", str(self.folder), "--prompt", "a",
                   "--max-tokens", "150", "--ignore-eos"]  # fmt: skip
        with subprocess.Popen(command, cwd=support.PACKAGES[0], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual(len(process.stdout.read(1)), 1)
            process.stdout.close()
            self.assertEqual((process.stderr.read(), process.wait()), ("", 4))

    def test_version(self):
        """As shardrun says it, where one of this version is there."""
        said = self.shardrt("--version", PATH=str(BIN)).stdout
        self.assertEqual(said, program("shardrun", "--version").stdout.replace("shardrun", "shardrt"))
        self.assertRegex(said, rf"^shardrt {re.escape(shardrt.__version__)}( \(\w+\))?\nartifact format \d+")
        other = self.folder / "shardrun"
        other.write_text("#!/bin/sh\necho shardrun 0.0.9 '(123)'\n")
        other.chmod(0o755)
        for path in (self.folder, self.folder / "nothing"):
            self.assertEqual(self.shardrt("--version", PATH=str(path)).stdout, f"shardrt {shardrt.__version__}\n")

    def test_a_wrong_type_is_one_line(self):
        """As of what a file beside the model holds."""
        wrong = TypeError("messages are 5, expected a list")
        with mock.patch.object(generate, "run", side_effect=wrong), contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(main(["generate", "nowhere"]), 2)
        self.assertEqual(said.getvalue(), "shardrt generate: messages are 5, expected a list\n")

    def test_mistakes(self):
        encoder = self.folder / "bert.shard"
        self.run_ok("shardc", model_file("bert-ts-op17"), "-o", encoder)
        for code, said, arguments in (
            (2, "temperature is -1.0, expected 0 or more", ("generate", "nowhere", "--temperature", "-1")),
            (2, "max_tokens is 0, expected 1 to", ("generate", "nowhere", "--prompt", "a", "--max-tokens", "0")),
            (4, "nowhere.*manifest", ("generate", "nowhere", "--prompt", "a")),
            (4, "nowhere.*manifest", ("serve", "nowhere", "--port", "0")),
            (2, "nothing", ("generate", self.artifact, "--tokenizer", "nothing", "--prompt", "a")),
            (2, "invalid choice: 'degenerate'", ("degenerate",)),
            (2, "'1,x' are no ids: expected 1,2,3", ("generate", "nowhere", "--prompt-ids", "1,x")),
            (2, "bert.shard takes token_type_ids beside tokens, which no flag gives: run requests by shardrun --inputs FOLDER",
             ("generate", encoder, "--prompt", "a")),
            (2, "the following arguments are required: artifact", ("generate",)),
        ):  # fmt: skip
            done = self.shardrt(*arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertRegex(done.stderr, said)
            self.assertNotIn("Traceback", done.stderr)
        self.assertIn("generate", self.shardrt("--help").stdout)
        for code, flags in ((4, ("nowhere", "--prompt", "a")), (2, (self.artifact, "--prompt", "a", "--max-tokens", 0))):
            self.assertEqual(self.shardrun(*flags).returncode, code)


if __name__ == "__main__":
    unittest.main()
