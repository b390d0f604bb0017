"""`shardrt serve` as a process of its own, and who asks it."""

import os
import re
import signal
import subprocess
import sys

import httpx

from tests.python import support
from tests.python.served_texts import ServedTexts


def serve(test, artifact, *flags, environment=None, within=()):
    """A server on a free port, which ends with the test; its address. `within`: a command that runs it."""
    command = [*within, sys.executable, "-m", "shardrt", "serve", artifact, "--port", 0, *flags]
    process = subprocess.Popen([str(part) for part in command], cwd=support.PACKAGES[0], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=os.environ | (environment or {}))  # fmt: skip
    test.addCleanup(end, process)
    line = process.stdout.readline()
    found = re.search(r"at (http://\S+)", line)
    if not found:
        process.wait(60)
        raise AssertionError(f"{line}{process.stderr.read()}")
    process.url = found[1]
    return process


def end(process):
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    process.wait(30)
    for pipe in (process.stdout, process.stderr):
        pipe.close()


class Asked(ServedTexts):
    """Tests that ask one server."""

    FLAGS = ("--positions", 400)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()

        class Cleanups:
            addCleanup = staticmethod(cls.addClassCleanup)

        cls.server = serve(Cleanups, cls.artifact, *cls.FLAGS)
        cls.url = cls.server.url
        cls.client = httpx.Client(base_url=cls.url, timeout=60)
        cls.addClassCleanup(cls.client.close)

    def ask(self, path, status=200, **fields):
        answer = self.client.post(path, json={"model": "served", **fields})
        self.assertEqual(answer.status_code, status, answer.text)
        return answer.json()

    def refused(self, path, status, why, **fields):
        error = self.ask(path, status, **fields)["error"]
        self.assertRegex(error["message"], why)
        self.assertEqual(error["code"], status)
        return error
