"""Memory that the compiler takes of weights: of those that it reads, no more than a layer has."""

import os
import subprocess
import unittest

from tests.large import decoder
from tests.support import BIN, EndToEnd

LAYERS, HIDDEN, INNER = 6, 1024, 8192


class CompilerMemory(EndToEnd):
    def peak(self, model, *flags):
        """Of a compile, in bytes: what it maps of files counts as well."""
        command = [BIN / "shardc", model, "--no-progress", "-o", self.folder / "model.shard", *flags]
        process = subprocess.Popen([str(part) for part in command])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

    def size(self):
        return sum(file.stat().st_size for file in (self.folder / "model.shard").rglob("*") if file.is_file())

    def test_weights_that_are_quantised(self):
        model, parameters = decoder(self.folder, layers=LAYERS, hidden=HIDDEN, heads=16, kv_heads=4, inner=INNER, vocabulary=1024)
        layer = (self.folder / "weights").stat().st_size / LAYERS
        before = max(self.peak(model), self.peak(model, "--tp", 2))
        for plan in ([], ["--tp", 2, "--weights", "copy"]):
            for kind in ("int4", "int8"):
                with self.subTest(kind, plan=plan):
                    taken = self.peak(model, "--weights-type", kind, *plan) - before
                    self.assertGreater(self.size(), parameters / 2.2, "all of them were read")
                    self.assertLess(taken, layer)


if __name__ == "__main__":
    unittest.main()
