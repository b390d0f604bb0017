"""Batches of several replicas, side by side: a thread each, whose pieces come as one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Union

from .generation import Piece

_MOST_UNREAD = 1024


class _End:
    """Of one thread."""


def side_by_side(batches: Sequence[Callable[[], Iterator[Piece]]]) -> Iterator[Piece]:
    """The first error ends all, and so does who stops listening; steps under way are waited for."""
    if len(batches) == 1:
        yield from batches[0]()
        return
    pieces: queue.Queue[Union[Piece, _End, BaseException]] = queue.Queue(_MOST_UNREAD)
    over = threading.Event()

    def put(found: Union[Piece, _End, BaseException]) -> None:
        while not over.is_set():
            try:
                return pieces.put(found, timeout=0.1)
            except queue.Full:
                pass

    def run(batch: Callable[[], Iterator[Piece]]) -> None:
        found = batch()
        try:
            for piece in found:
                put(piece)
                if over.is_set():
                    break
            put(_End())
        except BaseException as error:
            put(error)
        finally:
            found.close()  # type: ignore[attr-defined]

    threads = [threading.Thread(target=run, args=(batch,), name="shardrt-replica", daemon=True) for batch in batches]
    for thread in threads:
        thread.start()
    try:
        left = len(threads)
        while left:
            found = pieces.get()
            if isinstance(found, _End):
                left -= 1
            elif isinstance(found, BaseException):
                raise found
            else:
                yield found
    finally:
        over.set()
        for thread in threads:
            thread.join()
