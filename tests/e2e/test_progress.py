"""What shardc shows on a terminal while it works, and where it shows nothing."""

import os
import pty
import subprocess
import unittest

from tests.support import BIN, EndToEnd, model_file


class Progress(EndToEnd):
    def said(self, *flags, **variables):
        """On stderr, which is a terminal."""
        ours, theirs = pty.openpty()
        command = [str(BIN / "shardc"), str(model_file("llama-dynamo-op18")), "--tp", "2", "-o", str(self.folder / "m.shard"), *flags]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs, env=os.environ | variables)
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        self.assertEqual(process.wait(timeout=60), 0, text)
        return text.decode()

    def test_a_terminal_shows_phases_and_bars(self):
        said = self.said("--weights-type", "int4")
        for shown in ("imported ...", "lowered ...", "quantising weights [####################] 100 %"):
            self.assertIn("\r\033[K" + shown, said)
        self.assertTrue(said.endswith("\r\033[K"), "nothing is left of it")

    def test_it_can_be_left_out(self):
        self.assertEqual(self.said("--no-progress"), "")
        self.assertEqual(self.said(SHARDC_PROGRESS="0"), "")
        self.assertIn("progress: - imported\r\n", self.said(SHARDC_PROGRESS="lines"))


if __name__ == "__main__":
    unittest.main()
