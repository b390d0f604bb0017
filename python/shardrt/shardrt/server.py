"""Many texts at once, on the scheduler of the runtime.

    with shardrt.Server("model.shard") as server:
        text = server.submit([1, 345, 20], max_tokens=16)
        print(text.result())                                    # ids
        async for token in server.stream([1, 345, 20], sampling=Sampling(temperature=0.8, seed=7)):
            print(token.id, token.logprob)
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import itertools
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np

from . import _checks
from ._held import Closing
from ._library import CHOOSE, COUNTS, ON_END, REOPEN, CountsOfC, ServerOptionsOfC, TextRequestOfC, library
from ._room import check_room
from ._tensors import Inputs, least_request
from ._text_inputs import TextInputs
from .cancellation import deadline_of_c
from .errors import ArtifactError, Busy, Error, Unavailable, check, last_error
from .session import Session
from .texts import Choose, Chooser, Text, Token

if TYPE_CHECKING:
    from typing_extensions import Unpack  # which type checkers have; nothing is needed to run

    from ._keywords import SessionKeywords, SubmitKeywords

__all__ = ["Counts", "Server", "Text", "Token"]

Reopen = Callable[[Session, str], None]
_END, _FAILED = -1, 4  # SHARDRT_END, SHARDRT_ARTIFACT


@dataclass(frozen=True)
class Counts:
    """What a server is at, and has done so far."""

    waiting: int
    """Texts that have not begun."""
    running: int
    """Texts that have pages."""
    pages: int
    """Of keys and values, in all."""
    free_pages: int
    """Texts that have ended keep theirs while nobody needs them, for others that begin alike."""
    steps: int
    """That were run."""
    tokens: int
    """Positions computed."""
    made: int
    """New tokens."""
    shared: int
    """Positions that another text had."""
    evicted: int
    """Times that a text gave up its pages."""
    recovered: int
    """Times that all was computed again."""


class Server(Closing):
    """Of a decoder that was compiled with --serve, whose inputs are tokens, masks, positions and what an encoder gave. Threads may
    share it.

    artifact: the folder that shardc wrote, or an open Session, which is then the server's alone and stays open.
    positions: of keys and values of all texts of a replica; where devices lack memory for so many, nothing is loaded.
    step_tokens, step_rows: of a step at most; prompts come in parts.
    most_waiting: texts that have not begun; one more is Busy.
    logits: which output; None: the first that is no cache.
    reopen: opens a session that is lost again, called with it and with what went wrong, on a thread of the server; what it
        raises ends the server. None: Session.reopen.
    keeps_texts: texts go on where they were once the session is open again; False: they end with what went wrong.

    Further arguments are those of Session.
    """

    session: Session
    """Whose ranks compute."""
    positions: int
    """As it was asked for."""
    most_waiting: int
    """Likewise."""

    _instead = "start another one, or share this one between threads"

    def __init__(
        self,
        artifact: Union[str, os.PathLike[str], Session],
        *,
        positions: int = 32768,
        step_tokens: int = 512,
        step_rows: int = 64,
        most_waiting: int = 1024,
        logits: Optional[str] = None,
        reopen: Optional[Reopen] = None,
        keeps_texts: bool = True,
        **session: Unpack[SessionKeywords],
    ) -> None:
        self._handle: Optional[int] = None
        counts = {"positions": positions, "most_waiting": most_waiting, "step_tokens": step_tokens, "step_rows": step_rows}
        self.positions, self.most_waiting, step_tokens, step_rows = (
            _checks.whole(name, value, _checks.COUNT) for name, value in counts.items()
        )
        _checks.given("logits", logits, str)
        self._reopen, self._keeps_texts = reopen, keeps_texts
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()  # of what follows; a callback comes where it is not held
        self._live: dict[int, Text] = {}
        self._inside: set[int] = set()  # threads that are in a callback
        self._why: Optional[str] = None
        self._ended: Optional[str] = None
        self._cause: Optional[Error] = None  # of the last loss
        self._calls = CHOOSE(self._on_choose), ON_END(self._on_end), REOPEN(self._on_lost)  # as long as the server
        self._owns = not isinstance(artifact, Session)
        session.setdefault("cache_positions", positions)
        self.session = artifact if isinstance(artifact, Session) else Session(artifact, **session)
        # How many may wait is counted here, where it has an error of its own.
        options = ServerOptionsOfC(size=ctypes.sizeof(ServerOptionsOfC), positions=positions, step_tokens=step_tokens,
                                   step_rows=step_rows, most_waiting=2**40, logits=logits.encode() if logits else None,
                                   reopen=self._calls[2])  # fmt: skip
        made = ctypes.c_void_p()
        try:
            if self.session.page:
                check_room(self.session, positions)
            with self.session._using() as handle, _checks.room("positions", positions):
                check(library().shardrt_server_create(handle, ctypes.byref(options), ctypes.byref(made)))
        except Error:
            if self._owns:
                self.session.close()
            raise
        self._handle = made.value
        self._words = TextInputs(self.session.inputs).words
        self._infos = {info.name: info for info in self.session.inputs}
        self.session._parts.add(self)

    def submit(
        self,
        prompt: Sequence[int],
        *,
        max_tokens: int = 16,
        choose: Union[Choose, Chooser, None] = None,
        deadline: Optional[float] = None,
        inputs: Optional[Mapping[str, Any]] = None,
        listener: Optional[Callable[[Text, Optional[Token]], None]] = None,
    ) -> Text:
        """A text, which is computed beside others.

        choose: the next token, of the logits [words] of the last position and the ids so far: an id, a Token, or None where the text
            has ended; the array is of the call alone. A Chooser knows of sampling and of tokens that end a text. None: the
            likeliest. Another thing, or an id that the model has not, ends the text with an error. It is called on the
            server's thread, which meanwhile computes nothing.
        deadline: seconds after which it ends with DeadlineExceeded.
        inputs: what an encoder gave, of a model that takes that: encoder_hidden_states [1, n, d], encoder_attention_mask [1, n].
        listener: called on the server's thread with each token, and with None at the end.

        Raises Busy where as many wait as may, and Unavailable while ranks are lost.
        """
        tokens = _checks.ids("prompt", prompt, self._words)
        ids = np.array(tokens, np.int64)
        for name, function in (("choose", choose), ("listener", listener)):
            if function is not None and not callable(function):
                raise TypeError(f"{name} is {_checks.shown(function)}, expected a function or None")
        given = Inputs(inputs or {}, self._infos)
        text = Text(next(self._numbers), tokens, choose, listener)
        request = TextRequestOfC(
            size=ctypes.sizeof(TextRequestOfC), prompt=ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), num_prompt=ids.size,
            max_tokens=_checks.whole("max_tokens", max_tokens, _checks.Range(-_checks.MOST)), choose=self._calls[0], on_end=self._calls[1], context=text.number,
            deadline_ms=deadline_of_c(deadline),
            inputs=given.tensors, num_inputs=len(given.tensors))  # fmt: skip
        made = ctypes.c_void_p()
        with self._lock:
            if self._handle is None:
                raise ValueError("the server is closed")
            if self._ended is not None:
                raise Unavailable(self._ended, self._cause)
            if self._why is not None:
                raise Unavailable(f"the ranks are lost, and come back: {self._why}", self._cause)
            if sum(not each.has_begun for each in self._live.values()) >= self.most_waiting:
                raise Busy(f"{self.most_waiting} texts wait already: try again later")
            self._live[text.number] = text
            try:
                check(library().shardrt_server_submit(self._handle, ctypes.byref(request), ctypes.byref(made)))
            except Error:
                del self._live[text.number]
                raise
            assert made.value is not None
            text._give(made.value)
        return text

    async def stream(self, prompt: Sequence[int], **options: Unpack[SubmitKeywords]) -> AsyncIterator[Token]:
        """Tokens as they come; arguments are those of submit, but for `listener`. Who stops listening, or is cancelled, ends
        the text. Raises what ended it."""
        with Stream(self, prompt, **options) as stream:
            async for token in stream:
                yield token

    async def generate(self, prompt: Sequence[int], **options: Unpack[SubmitKeywords]) -> list[int]:
        """The ids of a whole text."""
        return [token.id async for token in self.stream(prompt, **options)]

    @property
    def lost(self) -> Optional[str]:
        """What went wrong, while the session is opened again or if it cannot be; None: all is well."""
        with self._lock:
            return self._ended or self._why

    @property
    def is_over(self) -> bool:
        """It could not be opened again, and takes no more texts."""
        return self._ended is not None

    def check(self) -> Optional[str]:
        """As `lost`, after asking the session. A server that has nothing to do learns by it that a rank is gone, and has
        the session opened again."""
        with self._lock:
            if self._handle is None or self._ended is not None or self._why is not None:
                return self.lost
            is_lost = self.session.is_lost
        if is_lost and not self._live:
            self._wake()
        return "a rank no longer answers" if is_lost else None

    def _wake(self) -> None:
        """A step finds out what is wrong, and has it opened again: of a text that is none, with the least that an encoder could
        have given."""
        others = TextInputs(self.session.inputs).others
        try:
            self.submit([0], max_tokens=1, inputs=least_request(self.session.inputs, others))
        except Error:
            pass

    def counts(self) -> Counts:
        """What it is at, and has done so far."""
        found = CountsOfC(size=ctypes.sizeof(CountsOfC))
        with self._lock:
            if self._handle is None:
                raise ValueError("the server is closed")
            check(library().shardrt_server_counts(self._handle, ctypes.byref(found)))
        return Counts(**{name: getattr(found, name) for name in COUNTS})

    def close(self) -> None:
        """Texts that are under way end with an error; a Session that was given stays open. Not for functions that the server
        calls, since it waits for them."""
        if threading.get_ident() in self._inside:
            raise RuntimeError("a function that the server calls cannot close it: end the text there (choose: None, Text.cancel), "
                               "and close the server on another thread")  # fmt: skip
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is None or os.getpid() != self.session._process:
            return
        library().shardrt_server_destroy(handle)
        if self._owns:
            self.session.close()

    def __repr__(self) -> str:
        if self._handle is None:
            return "<shardrt.Server, closed>"
        counts = self.counts()
        lost = f", lost: {self.lost}" if self.lost else ""
        return (f"<shardrt.Server {self.session.artifact!r}, {counts.running} running, {counts.waiting} waiting, "
                f"{counts.free_pages} of {counts.pages} pages free{lost}>")  # fmt: skip

    # What the server's threads call, without its locks. Nothing may be raised into C.

    @contextlib.contextmanager
    def _callback(self) -> Iterator[None]:
        """Around functions of others."""
        thread = threading.get_ident()
        self._inside.add(thread)
        try:
            yield
        finally:
            self._inside.discard(thread)

    def _on_choose(self, logits: Any, count: int, number: int) -> int:
        text = self._live.get(number)
        if text is None:
            return _END
        with self._callback():
            return text._choose(np.ctypeslib.as_array(logits, (count,)))

    def _on_end(self, status: int, message: Optional[bytes], number: int) -> None:
        with self._lock:
            text = self._live.pop(number, None)
        if text is None:
            return
        with self._callback():
            text._end(None if status == 0 else self._ended_by(last_error(status)))

    def _ended_by(self, error: Error) -> Error:
        """Of a text that was alone when ranks were lost: where none is kept, it ends as those do that come too late."""
        if not isinstance(error, ArtifactError) or self._keeps_texts:
            return error
        try:
            return Unavailable(str(error), error) if self.session.is_lost else error
        except ValueError:  # it has been closed
            return error

    def _on_lost(self, _: int, __: bytes, ___: int) -> int:
        cause = last_error(_FAILED)
        with self._callback():
            return self._open_again(cause)

    def _open_again(self, cause: Error) -> int:
        why = str(cause)
        with self._lock:
            self._why, self._cause = why, cause
            texts = [] if self._keeps_texts else list(self._live.values())
        for text in texts:
            text._end(Unavailable(why, cause))
            text.cancel()
        try:
            if self._reopen is not None:
                self._reopen(self.session, why)
            else:
                self.session.reopen()
        except BaseException as error:  # the server says it of all texts to come
            with self._lock:
                self._ended, self._why = f"{why}; it was not opened again: {error}", None
            return int(library().shardrt_conclude(None, _FAILED, str(error).encode()))
        with self._lock:
            self._why = None
        return 0


class Stream:
    """A text that was submitted, as tokens on an event loop."""

    def __init__(self, server: Server, prompt: Sequence[int], **options: Unpack[SubmitKeywords]) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Optional[Token]] = asyncio.Queue()
        self.text = server.submit(prompt, listener=self._listen, **options)

    def _listen(self, _: Text, token: Optional[Token]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, token)
        except RuntimeError:  # the loop is closed: nobody listens
            self.text.cancel()

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Token:
        token = await self._queue.get()
        if token is not None:
            return token
        if self.text.error is not None:
            raise self.text.error
        raise StopAsyncIteration

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.text.cancel()
