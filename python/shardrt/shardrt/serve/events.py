"""Answers that come in parts, and answers whose reader may leave."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Awaitable, MutableMapping
from typing import Any, Callable, Optional, TypeVar

from fastapi import Request
from starlette.responses import Response

from .guard import Gone
from .limits import Limits
from .problems import Problem, of_error

T = TypeVar("T")


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n\n"


def in_json(logprob: Optional[float]) -> Optional[float]:
    """JSON has no infinity: of what is impossible -9999, as vLLM says it."""
    if logprob is not None and math.isnan(logprob):
        raise Problem(500, "a log-probability is no number", kind="server_error")
    return None if logprob is None else max(logprob, -9999.0)


async def _left(receive: Callable[[], Awaitable[MutableMapping[str, Any]]]) -> None:
    """Returns when the reader is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_gone(request: Request, work: Awaitable[T]) -> T:
    """What the work gives; it is cancelled when who asked is gone."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_left(request.receive))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Gone("who asked is no longer there")
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


class Events(Response):
    """Server-sent events. They end when the reader is gone; what goes wrong is the last but one."""

    media_type = "text/event-stream"

    def __init__(self, events: AsyncGenerator[bytes, None], limits: Limits) -> None:
        super().__init__(headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events, self._limits = events, limits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sending, gone = asyncio.ensure_future(self._send(send)), asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
        finally:
            for task in (sending, gone):
                task.cancel()
            await asyncio.gather(sending, gone, return_exceptions=True)

    async def _send(self, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def part(body: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": body, "more_body": more})

        try:
            async for body in self._events:
                await part(body)
        except Gone:
            raise
        except Exception as error:
            await part(event(of_error(error, self._limits).body()))
        finally:
            await self._events.aclose()
        await part(b"data: [DONE]\n\n", more=False)
