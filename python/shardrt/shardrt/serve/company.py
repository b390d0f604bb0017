"""The processes of a served model, in which others take the place of those that are gone."""

from __future__ import annotations

import signal
import sys
import threading
from typing import Optional, Union

from ..errors import Error
from ..processes import Processes, join
from ..session import Session


_ENDS = (signal.SIGTERM, signal.SIGINT)


class Company:
    def __init__(self, *, rejoin: int = 0, timeout: Optional[float] = None) -> None:
        """rejoin: how many times another process may take the place of one that is gone."""
        self._left, self._timeout = rejoin, timeout
        self._changed = threading.Condition()
        self._is_ending = False
        self.processes: Processes = join(timeout=timeout)

    @property
    def is_lead(self) -> bool:
        return self.processes.rank == 0

    def reopen(self, session: Session, why: str) -> None:
        """A session that is lost, with threads or with others."""
        if self.processes.num_ranks == 1:
            session.reopen()
            return
        if self._left <= 0:
            raise RuntimeError("no other process is waited for (--rejoin)")
        self._left -= 1
        print(f"shardrt serve: waits for another process: {why}", file=sys.stderr, flush=True)
        again = self._joined_again()
        session.reopen(again)
        before, self.processes = self.processes, again
        before._sessions.discard(session)  # it is that of the others now
        before.close()
        print("shardrt serve: all are there again", file=sys.stderr, flush=True)

    def _joined_again(self) -> Processes:
        """On a thread that is left behind, where all is to end before they are there."""
        found: list[Union[Processes, Exception]] = []

        def meet() -> None:
            try:
                met: Union[Processes, Exception] = join(timeout=self._timeout)
            except Exception as error:
                met = error
            with self._changed:
                found.append(met)
                self._changed.notify_all()

        threading.Thread(target=meet, daemon=True).start()
        with self._changed:
            self._changed.wait_for(lambda: found or self._is_ending)
        if not found:
            raise RuntimeError("the server ends, and waits for no other process")
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]

    def stop_waiting(self) -> None:
        """For another process: all is to end."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()

    def follow(self, session: Session) -> None:
        """What rank 0 says, until it closes its session: what tells a process to end is that one's, unless it is gone."""
        while True:
            for number in _ENDS:
                signal.signal(number, signal.SIG_IGN)
            try:
                return session.follow()
            except Error as error:
                if not session.is_lost or self._left <= 0:
                    raise
                for number in _ENDS:
                    signal.signal(number, signal.SIG_DFL)
                self.reopen(session, str(error))

    def end(self, error: Optional[BaseException] = None) -> None:
        """Of all alike; raises what another one says."""
        self.processes.__exit__(type(error), error, None)
