"""One process a rank, as torchrun, srun and mpirun start them."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import TYPE_CHECKING, Optional

from . import _checks
from ._held import Closing
from ._library import JoinOptionsOfC, library
from .errors import check, status_of

if TYPE_CHECKING:
    from .session import Session


class Processes(Closing):
    """All of them, once they have met (shardrt.join). Each opens the same artifact, and rank 0 says what is run.

        with shardrt.join() as processes, shardrt.Session("model.shard", processes=processes) as session:
            if processes.rank > 0:
                session.follow()                        # until rank 0 closes its session
            else:
                logits = session.run(inputs)["logits"]

    At the end of the `with` all of them end alike: what one of them raised the others raise as well. Where there is one
    process alone, its ranks are threads.
    """

    rank: int
    """Of this process, from 0."""
    num_ranks: int
    """Of all processes; 1: there is this one alone."""

    _instead = "they are of this process alone"

    def __init__(self, handle: Optional[int]) -> None:
        self._handle, self._closed, self._process = handle, False, os.getpid()
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()
        self.rank = int(library().shardrt_rank(handle))
        self.num_ranks = int(library().shardrt_num_ranks(handle))
        self._spoke = True

    def __exit__(self, *raised: object) -> None:
        if self._closed:
            return
        error = next((each for each in raised if isinstance(each, BaseException)), None)
        self._close_sessions()
        message = None if error is None else (str(error) or type(error).__name__).encode()
        ended = library().shardrt_conclude(self._handle, status_of(error), message)
        try:
            if error is None:
                check(ended)
        finally:
            self.close()

    @property
    def is_speaker(self) -> bool:
        """Whether this process is the one to tell the user of an error."""
        if not self._closed:
            self._spoke = bool(library().shardrt_is_speaker(self._handle))
        return self._spoke

    def close(self) -> None:
        """Leaves, without a word to the others."""
        self._spoke = self.is_speaker
        handle, self._handle, self._closed = self._handle, None, True
        if handle is not None and os.getpid() == self._process:
            self._close_sessions()
            library().shardrt_leave(handle)

    def _close_sessions(self) -> None:
        for session in list(self._sessions):
            session.close()

    def _for_session(self, session: Session) -> Optional[int]:
        """None: of one process alone."""
        if self._closed:
            raise ValueError("these processes have come apart: join again")
        self._sessions.add(session)
        return self._handle

    def __repr__(self) -> str:
        return "<shardrt.Processes, closed>" if self._closed else f"<shardrt.Processes, rank {self.rank} of {self.num_ranks}>"


def join(
    *,
    rendezvous: Optional[str] = None,
    rank: int = 0,
    num_ranks: int = 1,
    job: str = "",
    timeout: Optional[float] = None,
) -> Processes:
    """Meets all others, and returns when they are there.

    rendezvous: "HOST:PORT" of rank 0; None: all is as the launcher says, or SHARDC_RENDEZVOUS, SHARDC_RANK,
        SHARDC_WORLD_SIZE and SHARDC_JOB.
    rank, num_ranks, job: with a rendezvous: of this process, of all, and a name that all of them say.
    timeout: seconds for all to come; None: 60, or SHARDC_TIMEOUT.
    """
    for name, value in (("rendezvous", rendezvous), ("job", job)):
        _checks.given(name, value, str, optional=name == "rendezvous")
    num_ranks = _checks.whole("num_ranks", num_ranks, _checks.Range(1, 2**31 - 1))
    options = JoinOptionsOfC(
        size=ctypes.sizeof(JoinOptionsOfC),
        timeout_seconds=_checks.seconds("timeout", timeout, _checks.TIMEOUT) or 0,
        rendezvous=rendezvous.encode() if rendezvous is not None else None,
        rank=_checks.whole("rank", rank, _checks.Range(0, num_ranks - 1)),
        num_ranks=num_ranks,
        job=job.encode(),
    )
    made = ctypes.c_void_p()
    check(library().shardrt_join(ctypes.byref(options), ctypes.byref(made)))
    return Processes(made.value)
