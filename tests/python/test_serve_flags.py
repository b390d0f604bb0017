"""Flags of `shardrt serve` and `generate` that cannot be: one line that names the flag and what it takes, before anything is opened."""

import os
import socket
import subprocess
import sys
import unittest

from tests.python import support
from tests.python.http_server import end
from tests.python.kept_decoder import ARTIFACT

WRONG = (("--port", 70000, "0 to 65535"), ("--port", -1, "0 to 65535"), ("--port", "x", "no whole number"), ("--host", "", "it is empty"),
         ("--drain", -5, "0 to 1000000"), ("--positions", 0, "1 or more"), ("--step-tokens", 0, "1 or more"), ("--step-rows", -3, "1 or more"),
         ("--most-waiting", -1, "1 or more"), ("--most-tokens", -1, "1 or more"), ("--most-length", 0, "1 or more"),
         ("--most-connections", 0, "1 or more"), ("--most-bytes", 0, "1 or more"), ("--request-seconds", 0, "more than 0 and at most"),
         ("--request-seconds", "nan", "more than 0 and at most"), ("--threads", -1, "0 to 4096"), ("--timeout", -1, "more than 0"),
         ("--rejoin", -1, "0 or more"), ("--api-key", "", "it is empty"), ("--name", "a/b", "expected a name without"), ("--name", "", "expected a name"))  # fmt: skip


class Flags(unittest.TestCase):
    def shardrt(self, *arguments, **environment):
        command = [sys.executable, "-m", "shardrt", *map(str, arguments)]
        process = subprocess.Popen(command, cwd=support.PACKAGES[0], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=os.environ | environment)  # fmt: skip
        self.addCleanup(end, process)
        return process

    def refused(self, why, *arguments, **environment):
        process = self.shardrt(*arguments, **environment)
        said = process.communicate(timeout=60)[1]
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(said, why)
        self.assertEqual(said.count("\n"), 1, said)

    def test_values(self):
        """All in one process each time would be slow: the parser is asked."""
        script = ("import sys; from shardrt.cli import main\n"
                  f"for flag, value, *_ in {WRONG!r}:\n"
                  "    try:\n        main(['serve', 'nowhere', f'{flag}={value}'])\n        print('taken', flag, value, file=sys.stderr)\n"
                  "    except SystemExit as end:\n        assert end.code == 2\n")  # fmt: skip
        done = subprocess.run([sys.executable, "-c", script], cwd=support.PACKAGES[0], capture_output=True, text=True, timeout=120)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), len(WRONG), done.stderr)
        for line, (flag, value, why) in zip(lines, WRONG, strict=True):
            self.assertRegex(line, f"^shardrt serve: error: argument {flag}: .*{why}.*; see shardrt serve --help$")
            self.assertIn(str(value), line)

    def test_one_line(self):
        self.refused("argument --port: 70000, expected 0 to 65535", "serve", ARTIFACT, "--port", 70000)
        self.refused("SHARDRT_API_KEY is empty: expected a key, or no such variable", "serve", ARTIFACT, SHARDRT_API_KEY="")
        self.refused("--host nonsense.invalid: no such address: ", "serve", ARTIFACT, "--host", "nonsense.invalid")
        self.refused("argument --prompt-ids: there is no token -1", "generate", ARTIFACT, "--prompt-ids=-1")
        self.refused("argument --prompt-ids: there is no token 9{23}", "generate", ARTIFACT, f"--prompt-ids={'9' * 23}")
        self.refused("there is no token 99999: expected 0 to 1023", "generate", ARTIFACT, "--prompt-ids=99999")
        self.refused("n is 5000, expected 1 to 1024", "generate", ARTIFACT, "--prompt-ids=5", "--n", 5000)
        self.refused("artifact is '', which is no path", "generate", "", "--prompt-ids=5")
        self.refused(r"need \d+ bytes on device 0 .* of KV caches.*room for \d+ positions .*: ask for no more$", "serve", ARTIFACT, "--positions", 10_000_000,
                     "--port", 0, SHARDC_HOST_MEMORY="100M")  # fmt: skip

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.refused(f"127.0.0.1:{port} cannot be listened at: Address already in use; give another", "serve", ARTIFACT, "--port", port)


if __name__ == "__main__":
    unittest.main()
