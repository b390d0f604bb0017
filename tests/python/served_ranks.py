"""A server whose ranks are two processes, the first of which answers."""

import os
import re
import subprocess
import sys

from tests.e2e.processes import by_hand
from tests.python import support
from tests.python.http_server import end
from tests.python.served_texts import ServedTexts


class ServedRanks(ServedTexts):
    """Tests of one."""

    def rank(self, place, *flags):
        environment = {name: str(value) for name, value in place.items()} | {"SHARDC_TIMEOUT": "60"}
        command = [sys.executable, "-m", "shardrt", "serve", self.artifact, "--port", 0, "--positions", 4000, *flags]
        process = subprocess.Popen([str(part) for part in command], cwd=support.PACKAGES[0], env=os.environ | environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
        self.addCleanup(end, process)
        return process

    def start(self, *flags):
        self.places = by_hand(2)
        self.first, self.second = (self.rank(place, *flags) for place in self.places)
        self.url = re.search(r"at (http://\S+)", self.first.stdout.readline())[1]
