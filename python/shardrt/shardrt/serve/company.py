"""The processes of a served model, in which others take the place of those that are gone."""

from __future__ import annotations

import sys
from typing import Optional

from ..errors import Error
from ..processes import Processes, join
from ..session import Session


class Company:
    def __init__(self, *, rejoin: int = 0, timeout: Optional[float] = None) -> None:
        """rejoin: how many times another process may take the place of one that is gone."""
        self._left, self._timeout = rejoin, timeout
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
        again = join(timeout=self._timeout)
        session.reopen(again)
        before, self.processes = self.processes, again
        before._sessions.discard(session)  # it is that of the others now
        before.close()
        print("shardrt serve: all are there again", file=sys.stderr, flush=True)

    def follow(self, session: Session) -> None:
        """What rank 0 says, until it closes its session."""
        while True:
            try:
                return session.follow()
            except Error as error:
                if not session.is_lost or self._left <= 0:
                    raise
                self.reopen(session, str(error))

    def end(self, error: Optional[BaseException] = None) -> None:
        """Of all alike; raises what another one says."""
        self.processes.__exit__(type(error), error, None)
