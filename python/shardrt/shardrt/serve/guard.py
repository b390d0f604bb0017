"""What stands in front of the application: keys, sizes, time to ask, counts of requests. No request gets past it unfinished."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import Awaitable, Iterator, MutableMapping
from typing import Any, Callable, Optional

from .limits import Limits
from .metrics import Metrics
from .problems import Problem

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

OPEN = ("/", "/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready")
"""Of no key."""
WATCHED = (*OPEN[1:], "/metrics")
"""By who starts it again, and by Prometheus."""


class Gone(Exception):
    """Who asked is no longer there."""


class Guard:
    def __init__(self, app: App, limits: Limits, metrics: Metrics) -> None:
        self._app, self._limits, self._metrics = app, limits, metrics
        self._under_way = 0  # requests, but for those that watch the server

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        status: list[int] = []

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])
            await _within(self._limits.stalled_seconds, send(message))

        try:
            with self._counted(scope):
                self._check_key(scope)
                body = await self._body(scope, receive)
                await self._app(scope, _replay(body, receive), sending)
        except Problem as problem:
            if not status:
                await problem.answer()(scope, receive, sending)
        except Gone:
            pass
        finally:
            self._metrics.answered(_path(scope), status[0] if status else 499)

    @contextlib.contextmanager
    def _counted(self, scope: MutableMapping[str, Any]) -> Iterator[None]:
        """One of those that there may be. Who watches the server gets an answer however many there are, or would start it
        again."""
        if scope["path"] in WATCHED:
            yield
            return
        if self._under_way >= self._limits.requests:
            raise Problem(503, f"{self._limits.requests} requests are under way, and no more may be: try again later", kind="unavailable",
                          headers={"Retry-After": str(self._limits.retry_after)})  # fmt: skip
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def _check_key(self, scope: MutableMapping[str, Any]) -> None:
        key = self._limits.api_key
        if key is None or scope["path"] in OPEN:
            return
        scheme, _, given = dict(scope["headers"]).get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(given.strip(), key.encode()):
            raise Problem(401, "a key is needed: Authorization: Bearer KEY", kind="authentication_error",
                          headers={"WWW-Authenticate": "Bearer"})  # fmt: skip

    async def _body(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        limit = self._limits.body
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > limit:
            raise _too_large(limit)
        try:
            return await asyncio.wait_for(_read(receive, limit), self._limits.body_seconds)
        except asyncio.TimeoutError:
            message = f"the request has not come within {self._limits.body_seconds:g} s"
            raise Problem(408, message, headers={"Connection": "close"}) from None


async def _within(seconds: float, sending: Awaitable[None]) -> None:
    """Gone if it takes longer. (asyncio.wait_for of before Python 3.12 may swallow that its task is cancelled.)"""
    task, expired = asyncio.current_task(), []
    assert task is not None

    def expire() -> None:
        expired.append(True)
        task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, expire)
    try:
        await sending
    except OSError as error:
        raise Gone("who asked is no longer there") from error
    except asyncio.CancelledError:
        if expired:
            raise Gone("the reader takes nothing") from None
        raise
    finally:
        timer.cancel()


def _too_large(limit: int) -> Problem:
    return Problem(400, f"the request is larger than {limit} bytes", headers={"Connection": "close"})


async def _read(receive: Receive, limit: int) -> bytes:
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone("before it had asked")
        parts += message.get("body", b"")
        if len(parts) > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return bytes(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    left: list[Optional[bytes]] = [body]

    async def again() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return again


def _path(scope: MutableMapping[str, Any]) -> str:
    """As the application knows it, so that there are not as many as somebody cares to ask for."""
    route = scope.get("route")
    return str(getattr(route, "path", "other"))
