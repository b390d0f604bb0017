"""The page of `shardrt serve`, in a browser."""

import json
import math
import os
import shutil
import signal
import unittest
from collections import Counter
from pathlib import Path

from tests.e2e.caches import HEADS, SIZE, VOCABULARY
from tests.python.browser import Browser
from tests.python.http_server import serve
from tests.python.served_ranks import ServedRanks
from tests.python.small_tokenizers import letters


@unittest.skipUnless(shutil.which("chromium"), "no chromium")
class Page(ServedRanks):
    def check_plan(self, browser):
        """What the compiler says of the artifact: collectives by kind, axis and size, and bytes of each rank."""
        said = json.loads((self.artifact / "manifest.json").read_text())
        expected = Counter((each["kind"], each["axis"], each["bytes"].replace('"', "")) for each in said["collectives"])
        self.assertGreater(sum(expected.values()), 1)
        rows = browser.run("[...document.querySelectorAll('#talks tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))")
        self.assertEqual({tuple(what): int(count) for count, *what in rows}, expected)
        boxes = browser.run("[...document.querySelectorAll('.rank')].map(box => [...box.querySelectorAll('small')].map(line => line.innerText))")
        held = 2 * 2 * HEADS // 2 * SIZE * 4 * 400  # keys and values of two layers and half of the heads, of all positions
        for number, (box, rank) in enumerate(zip(boxes, said["ranks"], strict=True)):
            self.assertEqual(box, [f"tp {number}", f"{math.ceil(rank['weight_bytes'] / 1024)} KiB weights", f"{math.ceil(held / 1024)} KiB KV"])

    def test_shows_and_asks(self):
        server = serve(self, self.artifact, "--positions", 400, "--api-key", "secret")
        browser = Browser(self)
        browser.open(server.url)
        browser.wait_for("document.getElementById('why').innerText == 'a key is needed'")
        browser.run("document.getElementById('key').value = 'secret'")
        browser.wait_for("document.getElementById('state').innerText == 'ready'")
        self.assertEqual(browser.run("document.getElementById('model').innerText"), "served")
        self.assertIn("tp=2 · 2 ranks, 1 stage, 1 replica", browser.run("document.getElementById('plan').innerText"))
        for prompt, ids in (("5, 7, 11", [5, 7, 11]), ("hello", letters(VOCABULARY).encode("hello").ids)):
            made = self.reference.greedy(ids, 32)
            made = made[: made.index(1)] if 1 in made else made
            browser.run(f"document.getElementById('prompt').value = '{prompt}'; document.getElementById('go').click()")
            browser.wait_for("!document.getElementById('go').disabled")
            self.assertEqual(browser.run("document.getElementById('answer').textContent"), letters(VOCABULARY).decode(made))
        browser.run("document.getElementById('tokens').value = 1000; document.getElementById('go').click()")
        browser.wait_for("document.getElementById('answer').innerText.includes('room for 200')")
        browser.wait_for("[...document.querySelectorAll('.figure')].some(box => /^[1-9].*tokens so far/s.test(box.innerText))")
        self.assertIn("2/2", browser.run("document.getElementById('figures').innerText"))
        self.assertEqual(browser.run("document.querySelectorAll('.rank').length"), 2)
        self.check_plan(browser)
        if "SHARDC_SCREENSHOTS" in os.environ:
            browser.screenshot(Path(os.environ["SHARDC_SCREENSHOTS"]) / "serve.png")
        server.send_signal(signal.SIGKILL)
        browser.wait_for("document.getElementById('why').innerText == 'the server does not answer'")
        self.assertEqual(browser.errors, [])

    def test_a_rank_that_is_gone(self):
        """Until another one has taken its place."""
        self.start("--rejoin", 1)
        browser = Browser(self)
        browser.open(self.url)
        browser.wait_for("document.getElementById('figures').innerText.includes('2/2')")
        self.second.kill()
        browser.wait_for("document.getElementById('why').innerText.includes('rank 1')")
        self.assertEqual(browser.run("document.getElementById('state').innerText"), "not ready")
        self.assertIn("0/2", browser.run("document.getElementById('figures').innerText"))
        if "SHARDC_SCREENSHOTS" in os.environ:
            browser.screenshot(Path(os.environ["SHARDC_SCREENSHOTS"]) / "serve-without-a-rank.png")
        self.second = self.rank(self.places[1], "--rejoin", 1)
        browser.wait_for("document.getElementById('state').innerText == 'ready'")
        self.assertIn("2/2", browser.run("document.getElementById('figures').innerText"))
        self.assertEqual(browser.errors, [])
        self.first.send_signal(signal.SIGTERM)
        self.assertEqual((self.first.wait(30), self.second.wait(30)), (0, 0))


if __name__ == "__main__":
    unittest.main()
