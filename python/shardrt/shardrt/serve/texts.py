"""Texts of a request: submitted all at once, or none of them, and read as pieces."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ..errors import Error
from ..server import Server, Stream
from ..stopping import StopStrings
from ..texts import Chooser, Token
from ..tokenizer import Tokenizer
from .metrics import Metrics
from .problems import invalid


@dataclass(frozen=True)
class Wanted:
    """One text."""

    ids: Sequence[int]
    chooser: Chooser
    max_tokens: int
    stops: Sequence[str] = ()
    after: Sequence[int] = ()
    """Ids that its text goes on from."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """What an encoder gave."""


@dataclass(frozen=True)
class Piece:
    """A token, and what is certain of the text by it."""

    index: int
    text: str
    token: Token
    finish_reason: Optional[str] = None


@dataclass
class Whole:
    """A text that has ended."""

    text: str = ""
    tokens: list[Token] = field(default_factory=list)
    finish_reason: str = "length"


class Texts:
    """Of one request; used as a context, so that none goes on when nobody reads them."""

    def __init__(self, server: Server, tokenizer: Optional[Tokenizer], metrics: Metrics, wanted: Sequence[Wanted]) -> None:
        self._tokenizer, self._metrics, self._wanted = tokenizer, metrics, wanted
        self._streams: list[Stream] = []
        self._begun = time.monotonic()
        if len(wanted) > server.most_waiting:  # who tries again gets no further
            raise invalid(f"{len(wanted)} texts are asked for at once, and {server.most_waiting} may wait: ask for fewer, or start the "
                          "server with a larger --most-waiting")  # fmt: skip
        try:
            for each in wanted:
                stream = Stream(server, each.ids, max_tokens=each.max_tokens, choose=each.chooser, inputs=each.inputs)
                self._streams.append(stream)
        except (Error, ValueError):
            self.cancel()
            raise
        metrics.asked(sum(len(each.ids) for each in wanted))

    def cancel(self) -> None:
        for stream in self._streams:
            stream.text.cancel()

    def __enter__(self) -> Texts:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()

    async def pieces(self) -> AsyncIterator[Piece]:
        """Of all, as they come. Raises what ended one of them."""
        if len(self._streams) == 1:
            async for piece in self._of(0):
                yield piece
            return
        queue: asyncio.Queue[Optional[Piece]] = asyncio.Queue()

        async def read(index: int) -> None:
            try:
                async for piece in self._of(index):
                    queue.put_nowait(piece)
            finally:
                queue.put_nowait(None)

        tasks = [asyncio.create_task(read(index)) for index in range(len(self._streams))]
        try:
            left = len(tasks)
            while left:
                found = await queue.get()
                if found is not None:
                    yield found
                    continue
                left -= 1
                for task in tasks:
                    if task.done() and task.exception() is not None:
                        task.result()
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def whole(self) -> list[Whole]:
        found = [Whole() for _ in self._streams]
        async for piece in self.pieces():
            text = found[piece.index]
            text.text += piece.text
            text.tokens.append(piece.token)
            text.finish_reason = piece.finish_reason or text.finish_reason
        return found

    async def _of(self, index: int) -> AsyncIterator[Piece]:
        wanted = self._wanted[index]
        decoder = self._tokenizer.stream(after=wanted.after) if self._tokenizer else None
        stops, count, last = StopStrings(list(wanted.stops)), 0, self._begun
        with self._streams[index] as stream:
            async for token in stream:
                count += 1
                now = time.monotonic()
                self._metrics.came(now - last, count == 1)
                last = now
                full = count == wanted.max_tokens
                text = decoder.push(token.id) if decoder and not token.is_last else ""
                if decoder and (token.is_last or full):
                    text += decoder.finish()
                text = stops.push(text)
                if (token.is_last or full) and stops.found is None:
                    text += stops.finish()
                reason = "stop" if token.is_last or stops.found is not None else "length" if full else None
                if reason:
                    self._metrics.finished(reason, now - self._begun)
                yield Piece(index, text, token, reason)
                if reason:
                    return
