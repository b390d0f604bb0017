"""How runs end before they are done: by somebody else, or by the clock."""

from __future__ import annotations

import ctypes
import weakref
from typing import Optional

from . import _checks
from ._held import Uncopied
from ._library import RunOptionsOfC, library
from .errors import check


class Cancellation(Uncopied):
    """Ends runs that it was given to, from another thread; they raise Cancelled."""

    _instead = "share this one, or make another"

    def __init__(self) -> None:
        made = ctypes.c_void_p()
        check(library().shardrt_cancellation_create(ctypes.byref(made)))
        assert made.value is not None
        self._handle, self._cancelled = made.value, False
        weakref.finalize(self, library().shardrt_cancellation_destroy, made.value)

    def cancel(self) -> None:
        """Runs that have it end, now and later."""
        self._cancelled = True
        library().shardrt_cancel(self._handle)

    def __repr__(self) -> str:
        return f"<shardrt.Cancellation, {'cancelled' if self._cancelled else 'not cancelled'}>"


def deadline_of_c(deadline: Optional[float]) -> int:
    """In milliseconds; 0: none."""
    found = _checks.seconds("deadline", deadline)
    return 0 if found is None else max(1, round(found * 1000))


def run_options(deadline: Optional[float], cancellation: Optional[Cancellation]) -> RunOptionsOfC:
    """As C has them; the deadline is in seconds from now."""
    options = RunOptionsOfC(size=ctypes.sizeof(RunOptionsOfC))
    options.deadline_ms = deadline_of_c(deadline)
    _checks.given("cancellation", cancellation, Cancellation)
    if cancellation is not None:
        options.cancellation = cancellation._handle
    return options
