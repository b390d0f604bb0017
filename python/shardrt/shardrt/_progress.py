"""How far weights have come, on stderr, where somebody sees it: on a terminal, or in a notebook."""

from __future__ import annotations

import os
import sys
import time

WIDTH = 20
PATIENCE = 0.5  # seconds in which most artifacts are open


def is_seen() -> bool:
    """Whether stderr is a terminal, or a cell of a notebook, and SHARDC_PROGRESS is not 0."""
    if os.environ.get("SHARDC_PROGRESS") == "0":
        return False
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell is not None else None
    return type(running).__name__ == "ZMQInteractiveShell"


class Bar:
    """One line that is written over, of what takes a while; `finish` leaves nothing of it."""

    def __init__(self, what: str) -> None:
        self._what, self._began, self._width = what, time.monotonic(), 0

    def __call__(self, done: int, of: int) -> None:
        if done == of:
            self.finish()
            return
        if self._width == 0 and time.monotonic() - self._began < PATIENCE:
            return
        part = done / of
        full = int(part * WIDTH)
        amount = f"{done / 2**30:.1f} of {of / 2**30:.1f} GiB" if of >= 2**30 else f"{done >> 20} of {of >> 20} MiB"
        self._write(f"{self._what} [{'#' * full}{' ' * (WIDTH - full)}] {int(part * 100):3} %, {amount}")

    def finish(self) -> None:
        if self._width:
            self._write("")
            self._width = 0

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width) + ("" if line else "\r"))
        sys.stderr.flush()
        self._width = len(line)
