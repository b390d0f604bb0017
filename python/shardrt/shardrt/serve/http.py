"""uvicorn, with what it leaves to others: a limit on how long a head may take to come, and a word when it drains."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, Optional

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .application import State


class Protocol(H11Protocol):
    """A connection that has begun to ask goes on to do so, or is closed."""

    head_seconds = 30.0
    _timer: Optional[asyncio.TimerHandle] = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._stop()
        super().connection_lost(exc)

    def _asks(self) -> bool:
        """Whether a head is complete, and its answer is not."""
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        if self._asks():
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._expire)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self) -> None:
        self._timer = None
        if not self._asks() and not self.transport.is_closing():
            self.transport.close()


class Uvicorn(uvicorn.Server):
    """Says where it is, once it is there."""

    def __init__(self, config: uvicorn.Config, name: str, state: State) -> None:
        super().__init__(config)
        self._name, self._state = name, state

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for server in self.servers:
            for socket in server.sockets:
                host, port = socket.getsockname()[:2]
                place = f"[{host}]" if ":" in host else host
                print(f"shardrt serve: {self._name} at http://{place}:{port}", flush=True)

    def handle_exit(self, sig: int, frame: Any) -> None:
        if not self._state.draining:
            print("shardrt serve: ends when what runs has ended", file=sys.stderr, flush=True)
        self._state.draining = True
        super().handle_exit(sig, frame)
