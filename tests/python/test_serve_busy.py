"""`shardrt serve` with as many requests as may be, and where something within it fails: answers in JSON, and health as it is."""

import asyncio
import json
import re
import resource
import signal
import socket
import tempfile
import unittest
from pathlib import Path

import httpx

from tests.python.http_server import serve
from tests.python.kept_decoder import ARTIFACT, Kept
from tests.python.small_tokenizers import letters

from shardrt.serve import Engine, Limits, application  # isort: skip

NAME = "decoder-serve-tp2"
WATCHES = ("/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready", "/metrics")


class Connections(Kept):
    @classmethod
    def setUpClass(cls):
        """More connections than files may be open at first."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        cls.addClassCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def test_who_watches_the_server_gets_an_answer(self):
        """Or it would be started again, in the middle of what it does."""
        server = serve(self, ARTIFACT, "--positions", 1024, "--step-rows", 1, "--most-connections", 1)
        fields = {"model": NAME, "prompt": [5, 7, 11], "max_tokens": 240, "n": 120, "stream": True, "ignore_eos": True}
        with httpx.stream("POST", f"{server.url}/v1/completions", json=fields, timeout=60) as answer:
            lines = answer.iter_lines()  # kept, as the answer is closed with it
            next(lines)
            for path in WATCHES:
                self.assertEqual(httpx.get(server.url + path).status_code, 200, path)
            for ask in (lambda: httpx.get(f"{server.url}/v1/models"), lambda: httpx.post(f"{server.url}/v1/completions", json=fields)):
                refused = ask()
                self.assertEqual((refused.status_code, refused.headers.get("retry-after")), (503, "1"), refused.text)
                self.assertEqual(refused.json()["error"]["message"], "1 requests are under way, and no more may be: try again later")
        for _ in range(100):
            if httpx.get(f"{server.url}/v1/models").status_code == 200:
                break
        else:
            self.fail("who has left is still counted")

    def connect(self, server):
        host, port = re.search(r"http://(.*):(\d+)", server.url).groups()
        made = socket.create_connection((host, int(port)), timeout=20)
        self.addCleanup(made.close)
        return made

    def is_closed(self, connection):
        connection.setblocking(False)
        try:
            return connection.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True

    def test_idle_connections(self):
        """However many there are, and however few files may be open, the server answers: those that are idle longest are closed."""
        files = ("sh", "-c", 'ulimit -n 600; exec "$@"', "sh")
        for within, flags, least in (((), ("--most-connections", 100), 100), (files, (), 50)):
            server = serve(self, ARTIFACT, "--positions", 1024, *flags, within=within)
            ready = lambda server=server: httpx.get(f"{server.url}/health/ready", timeout=5).status_code
            fields = {"model": NAME, "prompt": [5, 7, 11], "max_tokens": 240, "n": 30, "stream": True, "ignore_eos": True}
            with httpx.stream("POST", f"{server.url}/v1/completions", json=fields, timeout=60) as answer:
                lines = answer.iter_lines()
                next(lines)
                connections = []
                for _ in range(20):
                    connections += [self.connect(server) for _ in range(100)]
                    self.assertEqual(ready(), 200)
                closed = [self.is_closed(connection) for connection in connections]
                self.assertLess(least, closed.count(False))
                self.assertLess(closed.count(False), 600)
                self.assertEqual(closed, sorted(closed, reverse=True), "the oldest")
                next(lines)
            for connection in connections:
                connection.close()
            self.assertEqual(ready(), 200)
            server.send_signal(signal.SIGTERM)
            said = server.stderr.read()
            self.assertNotIn("Traceback", said)
            self.assertEqual("--most-connections is" in said, within != (), said)


class Within(Kept):
    """Asked without a network."""

    def ask(self, engine, method, path, **fields):
        async def answer():
            transport = httpx.ASGITransport(application(engine, Limits()), raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
                return await client.request(method, path, **fields)

        return asyncio.run(answer())

    def engine(self, **options):
        return self.opened(Engine, self.session(), positions=256, **options)

    def test_templates_that_fail(self):
        with tempfile.TemporaryDirectory() as folder:
            letters().save(f"{folder}/tokenizer.json")
            for template, why in (("{{ 1/0 }}", r"the chat template \(tokenizer_config.json\) fails for these messages: ZeroDivisionError"),
                                  ("{{ messages[0].content + 1 }}", "fails for these messages: TypeError"), ("{% if %}", "cannot be read: line 1")):  # fmt: skip
                Path(folder, "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
                messages = [{"role": "user", "content": "a"}]
                answer = self.ask(self.engine(tokenizer=folder), "POST", "/v1/chat/completions", json={"model": NAME, "messages": messages})
                self.assertEqual(answer.status_code, 400)
                self.assertRegex(answer.json()["error"]["message"], why)

    def test_what_nobody_thought_of(self):
        engine = self.engine()

        def fail():
            raise KeyError("mine")

        engine.status = fail
        answer = self.ask(engine, "GET", "/status")
        self.assertEqual((answer.status_code, answer.json()["error"]["type"]), (500, "server_error"))
        self.assertIn("KeyError: 'mine'", answer.json()["error"]["message"])


if __name__ == "__main__":
    unittest.main()
