"""The page of `shardrt serve`, in a browser."""

import os
import shutil
import signal
import unittest
from pathlib import Path

from tests.e2e.caches import VOCABULARY
from tests.python.browser import Browser
from tests.python.http_server import serve
from tests.python.served_texts import ServedTexts
from tests.python.small_tokenizers import letters


@unittest.skipUnless(shutil.which("chromium"), "no chromium")
class Page(ServedTexts):
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
        if "SHARDC_SCREENSHOTS" in os.environ:
            browser.screenshot(Path(os.environ["SHARDC_SCREENSHOTS"]) / "serve.png")
        server.send_signal(signal.SIGKILL)
        browser.wait_for("document.getElementById('why').innerText == 'the server does not answer'")
        self.assertEqual(browser.errors, [])


if __name__ == "__main__":
    unittest.main()
