"""Progress of a compile on stderr, where somebody sees it: on a terminal, or in a notebook."""

from __future__ import annotations

import os
import sys
from typing import Optional

WIDTH = 20


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
    """One line that is written over; `finish` leaves nothing of it."""

    def __init__(self) -> None:
        self._width = 0

    def show(self, what: str, done: Optional[float]) -> None:
        line = f"{what} ..."
        if done is not None:
            full = int(done * WIDTH)
            line = f"{what} [{'#' * full}{' ' * (WIDTH - full)}] {int(done * 100):3} %"
        self._write(line)

    def finish(self) -> None:
        self._write("")

    def _write(self, line: str) -> None:
        sys.stderr.write("\r" + line.ljust(self._width) + ("" if line else "\r"))
        sys.stderr.flush()
        self._width = len(line)
