"""uvicorn, with what it leaves to others: limits on how long a head may take to come and on how many connections are open, and
a word when it drains."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from typing import Any, ClassVar, Optional

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from .application import State


BACKLOG = 64
"""Connections that are taken at a time, before any of them is known here."""


def room_for_connections(wanted: int) -> int:
    """As many of them as files may be open beside those that are; more may be from now on, if it takes that."""
    others = len(os.listdir("/proc/self/fd")) + 4 * BACKLOG  # each is taken some turns of the loop before it is known
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = others + wanted
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(2, min(wanted, soft - others))


class Protocol(H11Protocol):
    """A connection that has begun to ask goes on to do so, or is closed; and so is the one that asks nothing for longest, where
    there would be more than may be open."""

    head_seconds = 30.0
    most_open = 2048
    _idle: ClassVar[dict[Protocol, None]] = {}
    """The longest first."""
    _timer: Optional[asyncio.TimerHandle] = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.most_open:
            idle = next(iter(self._idle), self)
            self._idle.pop(idle, None)
            idle.transport.close()
        if not transport.is_closing():
            self._watch()
            self._rest()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()
        self._rest()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._rest()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._stop()
        self._idle.pop(self, None)
        super().connection_lost(exc)

    def _rest(self) -> None:
        if self._asks():
            self._idle.pop(self, None)
        elif not self.transport.is_closing():
            self._idle.setdefault(self)

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
