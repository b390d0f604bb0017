"""Requests of a model that is no decoder of texts: each runs as it is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Optional, TypeVar

from .._tensors import least_request
from ..errors import Busy, Error, Unavailable
from ..server import Reopen
from ..session import Session

T = TypeVar("T")

_LOST = "a rank no longer answers"


class Requests:
    """Side by side on the replicas, and not more of them than may wait."""

    def __init__(self, session: Session, most_waiting: int, reopen: Optional[Reopen]) -> None:
        self._session, self._most, self._reopen = session, most_waiting, reopen
        self._threads = ThreadPoolExecutor(session.num_replicas, "shardrt-request")
        self._changed = threading.Condition()  # of what follows
        self._taken = self._inside = 0
        self._why: Optional[str] = None
        self._cause: Optional[Error] = None  # of the last loss
        self.is_over = False

    @property
    def lost(self) -> Optional[str]:
        """Why nothing runs, if so. Where nobody has run into it, a request finds out what is wrong, and has it opened again."""
        with self._changed:
            if self._why is not None or not self._session.is_lost:
                return self._why
            if self._taken > 0:
                return _LOST
            self._taken += 1
        wake = self._threads.submit(self._run, lambda: self._session.run(least_request(self._session.inputs)))
        wake.add_done_callback(self._give_back)
        return _LOST

    async def run(self, work: Callable[[], T]) -> T:
        """On a thread. Work that has begun goes on when nobody waits for it."""
        with self._changed:
            if self._why is not None:
                raise Unavailable(self._why, self._cause)
            if self._taken >= self._most:
                raise Busy(f"{self._most} requests wait already: try again later")
            self._taken += 1
        future = self._threads.submit(self._run, work)
        future.add_done_callback(self._give_back)
        return await asyncio.wrap_future(future)

    def _give_back(self, _: Future[Any]) -> None:
        with self._changed:
            self._taken -= 1

    def _run(self, work: Callable[[], T]) -> T:
        with self._changed:
            if self._why is not None:
                raise Unavailable(self._why, self._cause)
            self._inside += 1
        error: Optional[Error] = None
        try:
            return work()
        except Error as raised:
            error = raised
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()
        if not self._is_mine(error):
            raise error
        self._open_again(str(error))
        raise Unavailable(str(error), error) from None

    def _is_mine(self, error: Error) -> bool:
        """Whether this thread is the one to open a session that is lost."""
        with self._changed:
            if self._why is not None or not self._session.is_lost:
                return False
            self._why, self._cause = str(error), error
            self._changed.wait_for(lambda: self._inside == 0)
            return True

    def _open_again(self, why: str) -> None:
        try:
            if self._reopen is not None:
                self._reopen(self._session, why)
            else:
                self._session.reopen()
        except (Error, RuntimeError, ValueError) as error:
            self._why, self.is_over = f"{why}; it was not opened again: {error}", True
            return
        self._why = None

    def close(self) -> None:
        """What waits is left."""
        self._threads.shutdown(wait=True, cancel_futures=True)
