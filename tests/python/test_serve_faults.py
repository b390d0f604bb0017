"""`shardrt serve` where something goes wrong: ranks that die, readers that leave, requests that do not end, too many of them."""

import asyncio
import contextlib
import json
import re
import signal
import socket
import threading
import time
import unittest

import httpx

from tests.e2e.caches import VOCABULARY
from tests.python.http_server import Asked, serve
from tests.python.served_ranks import ServedRanks
from tests.python.served_texts import ServedTexts
from tests.python.small_tokenizers import letters
from tests.support import model_file

from shardrt.serve.guard import Guard  # isort: skip
from shardrt.serve.limits import Limits  # isort: skip
from shardrt.serve.metrics import Metrics  # isort: skip

PROMPT = [5, 7, 11]


def wait_until(test, holds, seconds=30):
    deadline = time.monotonic() + seconds
    while not holds():
        test.assertLess(time.monotonic(), deadline)
        time.sleep(0.05)


def ask(url, **fields):
    return httpx.post(f"{url}/v1/completions", timeout=60, json={"model": "served", "temperature": 0, "ignore_eos": True, **fields})


def metric(url, name):
    return float(re.search(rf"^{name}\{{.*\}} (\S+)$", httpx.get(f"{url}/metrics").text, re.MULTILINE)[1])


class Ranks(ServedRanks):
    def text(self, count):
        return letters(VOCABULARY).decode(self.reference.greedy(PROMPT, count))

    def kill_and_replace(self, while_it_runs):
        begun = threading.Event()
        said = []

        def read():
            fields = {"model": "served", "prompt": PROMPT, "max_tokens": 190, "n": 100, "temperature": 1, "stream": True, "ignore_eos": True}
            with httpx.stream("POST", f"{self.url}/v1/completions", json=fields, timeout=60) as answer:
                for line in answer.iter_lines():
                    begun.set()
                    if line.startswith("data: {"):
                        said.append(json.loads(line[6:]))

        reader = threading.Thread(target=read)
        if while_it_runs:
            reader.start()
            begun.wait(30)
        self.second.kill()
        killed = time.monotonic()
        wait_until(self, lambda: metric(self.url, "shardrt:ranks_up") == 0, 5)
        wait_until(self, lambda: httpx.get(f"{self.url}/health/ready").status_code == 503, 5)
        wait_until(self, lambda: "rank 1" in ask(self.url, prompt=PROMPT).text, 5)
        self.assertLess(time.monotonic() - killed, 5)
        refused = ask(self.url, prompt=PROMPT)
        self.assertEqual(refused.status_code, 503, refused.text)
        self.assertEqual(refused.json()["error"]["rank"], 1)
        self.assertIn("retry-after", refused.headers)
        self.assertEqual(metric(self.url, "shardrt:up"), 0)
        if while_it_runs:
            reader.join(5)
            self.assertFalse(reader.is_alive())
            self.assertIn("rank 1", said[-1]["error"]["message"])
            self.assertEqual(said[-1]["error"]["code"], 503)
        self.second = self.rank(self.places[1], "--rejoin", 2)
        wait_until(self, lambda: httpx.get(f"{self.url}/health/ready").status_code == 200)
        self.assertEqual([metric(self.url, f"shardrt:{name}") for name in ("up", "ranks", "ranks_up")], [1, 2, 2])
        self.assertEqual(ask(self.url, prompt=PROMPT, max_tokens=20).json()["choices"][0]["text"], self.text(20))

    def test_a_rank_that_is_killed(self):
        self.start("--rejoin", 2)
        self.assertEqual(ask(self.url, prompt=PROMPT, max_tokens=20).json()["choices"][0]["text"], self.text(20))
        self.kill_and_replace(while_it_runs=True)
        self.kill_and_replace(while_it_runs=False)
        self.first.send_signal(signal.SIGTERM)
        self.assertEqual((self.first.wait(30), self.second.wait(30)), (0, 0), "all end together")

    def test_who_asks_first_of_a_rank_that_is_gone(self):
        """Nothing ran, and nobody has looked: the first to ask gets what all do."""
        for flags in ((), ("--rejoin", 1)):
            with self.subTest(flags=flags):
                self.start(*flags)
                self.second.kill()
                first = ask(self.url, prompt=PROMPT)
                self.assertEqual(first.status_code, 503, first.text)
                self.assertEqual(first.json()["error"]["rank"], 1)
                self.first.kill()

    def test_a_model_whose_requests_run_as_they_are(self):
        """Whoever watches the server learns which rank is gone, without a request."""
        self.artifact = self.compile(model_file("bert-ts-op17"), 2)
        self.start()
        self.second.kill()
        wait_until(self, lambda: "rank 1" in httpx.get(f"{self.url}/health/ready").text, 5)

    def test_is_told_to_end_while_it_waits_for_another_process(self):
        self.start("--rejoin", 1)
        self.second.kill()
        wait_until(self, lambda: httpx.get(f"{self.url}/health/ready").status_code == 503, 5)
        self.assertIn("waits for another process: rank 1", self.first.stderr.readline())
        self.first.send_signal(signal.SIGTERM)
        self.assertEqual(self.first.wait(10), 4)
        said = self.first.stderr.read()
        self.assertIn("rank 1", said)
        self.assertNotIn("Traceback", said)

    def test_nobody_takes_its_place(self):
        self.start()
        self.second.kill()
        wait_until(self, lambda: "was not opened again" in ask(self.url, prompt=PROMPT).text, 5)
        self.assertEqual(ask(self.url, prompt=PROMPT).status_code, 503)
        self.assertEqual(httpx.get(f"{self.url}/health/live").status_code, 503, "whoever started it is to start it again")

    def test_the_first_is_killed(self):
        self.start()
        self.first.kill()
        self.assertNotEqual(self.second.wait(10), 0)
        self.assertIn("rank 0", self.second.stderr.read())


class Requests(Asked):
    FLAGS = ("--positions", 4000, "--request-seconds", 1, "--step-rows", 4)

    def connect(self):
        host, port = re.search(r"http://(.*):(\d+)", self.url).groups()
        made = socket.create_connection((host, int(port)), timeout=20)
        self.addCleanup(made.close)
        return made

    def head(self, length, more=""):
        return (f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{more}"
                f"Content-Length: {length}\r\n\r\n").encode()  # fmt: skip

    def still_answers(self):
        answer = ask(self.url, prompt=PROMPT, max_tokens=9)
        self.assertEqual(answer.json()["choices"][0]["text"], letters(VOCABULARY).decode(self.reference.greedy(PROMPT, 9)))

    def test_half_sent_requests(self):
        halves = [b"", b"POST /v1/comp", self.head(100)[:60]]
        connections = [self.connect() for _ in range(3 * 30)]
        for i, connection in enumerate(connections):
            connection.sendall(halves[i % 3])
        self.still_answers()
        begun = time.monotonic()
        for connection in connections:
            with contextlib.suppress(ConnectionResetError):  # closed as well, before all that was sent was read
                self.assertEqual(connection.recv(1000), b"", "closed")
        self.assertLess(time.monotonic() - begun, 10)
        body = self.connect()
        body.sendall(self.head(100) + b'{"model"')
        self.assertIn(b" 408 ", body.recv(1000))
        self.still_answers()

    def test_large_requests(self):
        answer = self.client.post("/v1/completions", json={"model": "served", "prompt": "a" * (10 << 20)})
        self.assertEqual(answer.status_code, 400)
        self.assertIn("larger than 4194304 bytes", answer.json()["error"]["message"])
        chunks = self.client.post("/v1/completions", content=(b" " * 65536 for _ in range(160)))
        self.assertEqual(chunks.status_code, 400)
        large = serve(self, self.artifact, "--positions", 400, "--most-bytes", 32 << 20)
        for prompt in ("a" * (10 << 20), [5] * (3 << 20)):
            answer = httpx.post(f"{large.url}/v1/completions", json={"model": "served", "prompt": prompt}, timeout=60)
            self.assertEqual(answer.status_code, 400)
            self.assertRegex(answer.json()["error"]["message"], "the prompt has .* (tokens|characters).* room for 200")
        self.still_answers()

    def test_readers_that_leave(self):
        """Their texts end: pages and steps are for others."""
        for stream in (False, True):
            before = metric(self.url, "vllm:generation_tokens_total")
            body = json.dumps({"model": "served", "prompt": PROMPT, "max_tokens": 190, "n": 120, "stream": stream, "ignore_eos": True})
            connection = self.connect()
            connection.sendall(self.head(len(body)) + body.encode())
            wait_until(self, lambda: metric(self.url, "vllm:num_requests_running") > 0)
            connection.close()
            wait_until(self, lambda: metric(self.url, "vllm:num_requests_running") + metric(self.url, "vllm:num_requests_waiting") == 0)
            self.assertLess(metric(self.url, "vllm:generation_tokens_total") - before, 190 * 120 / 2, f"stream={stream}")
        self.still_answers()

    def test_slow_readers(self):
        body = json.dumps({"model": "served", "prompt": PROMPT, "max_tokens": 190, "n": 20, "stream": True, "ignore_eos": True})
        connections = [self.connect() for _ in range(8)]
        for connection in connections:
            connection.sendall(self.head(len(body)) + body.encode())
        self.still_answers()
        for connection in connections[:2]:
            text = b""
            while not text.endswith(b"0\r\n\r\n"):
                text += connection.recv(4096)
            self.assertEqual(text.count(b'"finish_reason":"length"'), 20)

    def test_a_reader_that_takes_nothing(self):
        """It is left, and the application hears of it."""
        ended = []

        async def application(scope, receive, send):
            try:
                await send({"type": "http.response.start", "status": 200, "headers": []})
                await send({"type": "http.response.body", "body": b"a", "more_body": True})
            finally:
                ended.append(True)

        async def send(message):
            if message["type"] == "http.response.body":
                await asyncio.sleep(60)

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        guard = Guard(application, Limits(stalled_seconds=0.1), Metrics())
        scope = {"type": "http", "path": "/x", "headers": []}
        asyncio.run(asyncio.wait_for(guard(scope, receive, send), 5))
        self.assertEqual(ended, [True])


class Queues(ServedTexts):
    def test_a_full_queue(self):
        server = serve(self, self.artifact, "--positions", 4000, "--step-rows", 1, "--most-waiting", 3)
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(ask(server.url, prompt=PROMPT, max_tokens=190))) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = letters(VOCABULARY).decode(self.reference.greedy(PROMPT, 190))
        statuses = {answer.status_code for answer in answers}
        self.assertEqual(statuses, {200, 429})
        for answer in answers:
            if answer.status_code == 200:
                self.assertEqual(answer.json()["choices"][0]["text"], expected)
            else:
                self.assertEqual(answer.headers["retry-after"], "1")
                self.assertIn("3 texts wait already", answer.json()["error"]["message"])

    def test_drains(self):
        """What runs ends well, and nothing new begins."""
        server = serve(self, self.artifact, "--positions", 4000)
        parts = []
        fields = {"model": "served", "prompt": PROMPT, "max_tokens": 190, "n": 40, "temperature": 0, "stream": True, "ignore_eos": True}
        with httpx.stream("POST", f"{server.url}/v1/completions", json=fields, timeout=60) as answer:
            for line in answer.iter_lines():
                if not parts:
                    server.send_signal(signal.SIGTERM)
                    time.sleep(0.3)
                    with self.assertRaises(httpx.TransportError):
                        httpx.get(f"{server.url}/health/ready")
                parts.append(line)
        self.assertEqual([line for line in parts if line][-1], "data: [DONE]")
        texts = [""] * 40
        for line in parts:
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    texts[choice["index"]] += choice["text"]
        self.assertEqual(texts, [letters(VOCABULARY).decode(self.reference.greedy(PROMPT, 190))] * 40)
        self.assertEqual(server.wait(30), 0)

    def test_many_clients(self):
        """32 of them for some seconds: each answer is the serial one, and memory does not grow."""
        server = serve(self, self.artifact, "--positions", 4000)
        rss = lambda: metric(server.url, "process_resident_memory_bytes")
        asked = [{"prompt": [3 + i, 5, 7 + i], "max_tokens": 5 + i, "temperature": i % 2, "seed": i} for i in range(8)]
        serial = [ask(server.url, **fields).json()["choices"] for fields in asked]
        counts, wrong = [0] * 32, []

        def client(number, until):
            with httpx.Client(base_url=server.url, timeout=60) as own:
                while time.monotonic() < until:
                    i = (number + counts[number]) % 8
                    fields = {"model": "served", "ignore_eos": True, **asked[i]}
                    found = own.post("/v1/completions", json=fields).json().get("choices")
                    counts[number] += 1
                    if found != serial[i]:
                        wrong.append((fields, found, serial[i]))

        def run(seconds):
            threads = [threading.Thread(target=client, args=(number, time.monotonic() + seconds)) for number in range(32)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        run(3)
        warm = rss()
        run(6)
        self.assertEqual(wrong[:1], [])
        self.assertGreater(min(counts), 3)
        self.assertLess(rss() - warm, 16 << 20)
        self.assertEqual(metric(server.url, "vllm:num_requests_running"), 0)


if __name__ == "__main__":
    unittest.main()
