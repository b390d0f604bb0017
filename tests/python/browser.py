"""Chromium without a screen, told what to do by its DevTools protocol over two pipes."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path


class Browser:
    def __init__(self, test):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        test.addCleanup(folder.cleanup)
        (theirs_in, self._to), (self._from, theirs_out) = os.pipe(), os.pipe()
        command = [shutil.which("chromium"), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   f"--user-data-dir={folder.name}", "--window-size=1000,1100", "about:blank"]  # fmt: skip
        # It reads what it is told from 3, and answers to 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(["bash", "-c", script, "-", *command], pass_fds=(theirs_in, theirs_out),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(theirs_in), os.close(theirs_out)
        test.addCleanup(self._end)
        self._text, self._count, self._session, self.errors = b"", 0, None, []
        pages = self._call("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Runtime.enable")

    def _end(self):
        self._process.kill()
        self._process.wait()
        os.close(self._to), os.close(self._from)

    def _read(self):
        while b"\0" not in self._text:
            part = os.read(self._from, 65536)
            if not part:
                raise AssertionError("chromium has ended")
            self._text += part
        message, self._text = self._text.split(b"\0", 1)
        return json.loads(message)

    def _call(self, method, **parameters):
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._count:
                if "error" in answer:
                    raise AssertionError(answer["error"])
                return answer["result"]
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(answer["params"]["exceptionDetails"])

    def open(self, url):
        self._call("Page.navigate", url=url)

    def run(self, script):
        """What an expression of the page is."""
        return self._call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def wait_for(self, script, seconds=30):
        deadline = time.monotonic() + seconds
        while not self.run(script):
            assert time.monotonic() < deadline, f"{script}: {self.run('document.body.innerText')}"
            time.sleep(0.1)

    def screenshot(self, file):
        Path(file).write_bytes(base64.b64decode(self._call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))
