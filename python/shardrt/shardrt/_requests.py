"""Requests that run beside an event loop, on threads of the library."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import threading
from collections.abc import Callable
from typing import Any, Optional

from ._library import ON_END, OnEndOfC, library
from .errors import Error, check, last_error

_numbers = itertools.count(1)
_under_way: dict[int, Callable[[Optional[Error]], None]] = {}
_lock = threading.Lock()


def _on_end(status: int, message: Optional[bytes], number: int) -> None:
    error = last_error(status) if status else None
    with _lock:
        ended = _under_way.pop(number)
    ended(error)


_CALL = ON_END(_on_end)


async def run(submit: Callable[[OnEndOfC, Any], int], ended: Callable[[], None]) -> None:
    """Until the request has ended; raises its error. If the task is cancelled, so is the request, and then waited for: what
    it reads and writes may go when this returns. `submit` hands it to the library, and `ended` is called when that has it no
    more, from any thread; also where it was not taken."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Optional[Error]] = loop.create_future()

    def settle(error: Optional[Error]) -> None:
        ended()
        try:
            loop.call_soon_threadsafe(future.set_result, error)
        except RuntimeError:  # the loop is closed: nobody waits
            pass

    number, request = next(_numbers), ctypes.c_void_p()
    with _lock:
        _under_way[number] = settle
    try:
        check(submit(OnEndOfC(_CALL, number), ctypes.byref(request)))
    except BaseException:
        with _lock:
            del _under_way[number]
        ended()
        raise
    cancelled: Optional[asyncio.CancelledError] = None
    try:
        while not future.done():
            try:
                await asyncio.shield(future)
            except asyncio.CancelledError as error:
                cancelled = error
                library().shardrt_request_cancel(request)
    finally:
        # Where it is closed or interrupted, what it reads and writes goes, too.
        if not future.done():
            library().shardrt_request_cancel(request)
            library().shardrt_request_wait(request)
        library().shardrt_request_destroy(request)
    if cancelled is not None:
        raise cancelled
    failed = future.result()
    if failed is not None:
        raise failed
