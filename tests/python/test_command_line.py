"""The program shardrt: the texts of shardrt.Generator from a shell."""

import json
import subprocess
import sys
import unittest

from tests.python import support
from tests.python.served_decoder import PROMPT, Served

import shardrt  # isort: skip


class Generate(Served):
    def shardrt(self, *arguments, given=None):
        command = [sys.executable, "-m", "shardrt", *map(str, arguments)]
        return subprocess.run(command, cwd=support.PACKAGES[0], capture_output=True, text=True, input=given, timeout=120)

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

    def test_who_reads_may_leave(self):
        command = [sys.executable, "-m", "shardrt", "generate", str(self.artifact), "--tokenizer", str(self.folder), "--prompt", "a",
                   "--max-tokens", "150", "--ignore-eos"]  # fmt: skip
        with subprocess.Popen(command, cwd=support.PACKAGES[0], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.assertEqual(len(process.stdout.read(1)), 1)
            process.stdout.close()
            self.assertEqual((process.stderr.read(), process.wait()), ("", 1))

    def test_mistakes(self):
        for said, arguments in (("temperature is -1.0, expected 0 or more", ("generate", "nowhere", "--temperature", "-1")),
                                ("nowhere.*manifest", ("generate", "nowhere", "--prompt", "a")),
                                ("invalid choice: 'degenerate'", ("degenerate",)),
                                ("'1,x' are no ids: expected 1,2,3", ("generate", "nowhere", "--prompt-ids", "1,x")),
                                ("the following arguments are required: artifact", ("generate",))):  # fmt: skip
            done = self.shardrt(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertRegex(done.stderr, said)
            self.assertNotIn("Traceback", done.stderr)
        self.assertEqual(self.shardrt("--version").stdout, f"shardrt {shardrt.__version__}\n")
        self.assertIn("generate", self.shardrt("--help").stdout)


if __name__ == "__main__":
    unittest.main()
