"""KV caches that ranks keep between runs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ._held import Held
from ._library import library
from .errors import check

if TYPE_CHECKING:
    from .session import Session


class State(Held):
    """The KV caches of one sequence or batch, kept by the ranks between runs (Session.state).

        state = session.state(capacity=64)
        logits = session.run({"input_ids": prompt, ...}, state=state)["logits"]
        logits = session.run({"input_ids": token, ...}, state=state)["logits"]
    """

    _instead = "use fork()"

    def __init__(self, session: Session, handle: ctypes.c_void_p) -> None:
        self._session, self._handle, self._lock = session, handle.value, threading.Condition()
        self._requests = 0  # that are under way
        session._parts.add(self)

    @contextlib.contextmanager
    def _using(self, session: Session) -> Iterator[int]:
        with self._lock:
            self._lock.wait_for(lambda: self._requests == 0)
            yield self._handle_in(session)

    def _handle_in(self, session: Session) -> int:
        if self._handle is None:
            raise ValueError("the state is closed")
        if session is not self._session:
            raise ValueError("the state is of another session")
        return self._handle

    @contextlib.contextmanager
    def _pinned(self, session: Session) -> Iterator[int]:
        """The handle, for a request: several come one after the other. It may end on another thread."""
        with self._lock:
            handle = self._handle_in(session)
            self._requests += 1
        try:
            yield handle
        finally:
            with self._lock:
                self._requests -= 1
                self._lock.notify_all()

    @property
    def length(self) -> int:
        """Positions taken."""
        with self._using(self._session) as handle:
            return int(library().shardrt_state_length(handle))

    @property
    def capacity(self) -> int:
        """Positions that there is room for."""
        with self._using(self._session) as handle:
            return int(library().shardrt_state_capacity(handle))

    @property
    def memory(self) -> dict[int, tuple[int, int]]:
        """Of the ranks of this process, by number: bytes that its caches have taken of the device, and bytes of addresses
        for the whole capacity; both 0 before the first run."""
        rank, committed, reserved = ctypes.c_int32(), ctypes.c_int64(), ctypes.c_int64()
        found = {}
        with self._using(self._session) as handle:
            for index in range(library().shardrt_state_num_ranks(handle)):
                given = ctypes.byref(rank), ctypes.byref(committed), ctypes.byref(reserved)
                check(library().shardrt_state_memory(handle, index, *given))
                found[rank.value] = committed.value, reserved.value
        return found

    def reset(self) -> None:
        """Empty again, for any batch; memory is kept."""
        with self._using(self._session) as handle:
            library().shardrt_state_reset(handle)

    def fork(self) -> State:
        """A copy that goes its own way: beams, or a prompt that several texts have."""
        made = ctypes.c_void_p()
        with self._using(self._session) as handle:
            check(library().shardrt_state_fork(handle, ctypes.byref(made)))
        return State(self._session, made)

    def close(self) -> None:
        """Gives the memory back; its session does so, too."""
        with self._lock:
            self._lock.wait_for(lambda: self._requests == 0)
            handle, self._handle = self._handle, None
        if handle is not None and os.getpid() == self._session._process:
            library().shardrt_state_destroy(handle)

    def __repr__(self) -> str:
        if self._handle is None:
            return "<shardrt.State, closed>"
        return f"<shardrt.State, {self.length} of {self.capacity} positions>"
