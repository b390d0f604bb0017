"""A text that a server goes on with, and how its tokens are chosen."""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from . import _checks
from ._held import Uncopied
from ._library import library
from .sampling import Sampling, likeliest, log_probabilities

Logits = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Token:
    """One of a text."""

    id: int
    """Of the vocabulary."""
    logprob: Optional[float] = None
    """Logarithm of the probability that the model gives it, where it was asked for."""
    top_logprobs: tuple[tuple[int, float], ...] = ()
    """(id, logprob) of the likeliest."""
    is_last: bool = False
    """It ends the text."""


Choose = Callable[[Logits, list[int]], Union[Token, int, None]]


@dataclass(frozen=True)
class Chooser:
    """Draws tokens as shardrt.Generator does."""

    sampling: Sampling = Sampling()
    """How; greedily by default."""
    prompt: int = 0
    """Tokens that were given."""
    ends: Collection[int] = ()
    """Tokens that end a text."""
    logprobs: bool = False
    """Tokens have their log-probability."""
    top_logprobs: int = 0
    """And those of the likeliest, so many."""

    def __call__(self, logits: Logits, ids: list[int]) -> Token:
        """The next one, of the logits [words] of the last position and the ids so far."""
        logprob: Optional[float] = None
        if not self.logprobs and self._is_plain():
            token = int(logits.argmax())
        else:
            token, found = self.sampling.choose(logits, ids, len(ids), self.prompt)
            logprob = found if self.logprobs else None
        top = tuple(likeliest(log_probabilities(logits), self.top_logprobs)) if self.top_logprobs else ()
        return Token(token, logprob, top, token in self.ends)

    def _is_plain(self) -> bool:
        """Whether it is the largest logit."""
        asked = self.sampling
        return (asked.temperature == 0 and not asked.logit_bias and asked.repetition_penalty == 1
                and not asked.presence_penalty and not asked.frequency_penalty)  # fmt: skip


def _token(found: Any, words: int) -> Optional[Token]:
    """What a function chose, if it is one."""
    token = found if isinstance(found, Token) else None
    if token is None and found is not None:
        try:
            token = Token(operator.index(found))
        except TypeError:
            pass
        if token is None or isinstance(found, bool):
            raise TypeError(f"choose returned {_checks.shown(found)}, expected an id, a Token, or None where the text has ended")
    if token is not None:
        _checks.whole("the id that choose returned", token.id, _checks.Range(0, words - 1))
    return token


class Text(Uncopied):
    """Under way in a server (Server.submit). Threads may share it."""

    number: int
    """Of the server's texts, from 1."""
    prompt: list[int]
    """Ids that it began with."""
    error: Optional[BaseException]
    """What ended it, if something went wrong."""

    _instead = "share this one, or submit the prompt again"

    def __init__(self, number: int, prompt: list[int], choose: Optional[Choose],
                 listener: Optional[Callable[[Text, Optional[Token]], None]]) -> None:  # fmt: skip
        self.number, self.prompt = number, prompt
        self._all = list(prompt)
        self._choose_next = choose or Chooser()
        self._listener = listener
        self._changed = threading.Condition()
        self._tokens: list[Token] = []
        self._handle: Optional[int] = None
        self._over = False
        self._failed: Optional[BaseException] = None  # of a function of the request
        self.error = None

    @property
    def has_begun(self) -> bool:
        """It has a new token."""
        return bool(self._tokens)

    @property
    def is_done(self) -> bool:
        """It has ended, well or not."""
        return self._over

    @property
    def tokens(self) -> list[Token]:
        """So far."""
        with self._changed:
            return list(self._tokens)

    def result(self, timeout: Optional[float] = None) -> list[int]:
        """The new ids, once it has ended; raises what ended it. TimeoutError: not within so many seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._over, timeout):
                raise TimeoutError(f"the text has not ended within {timeout} s")
            if self.error is not None:
                raise self.error
            return [token.id for token in self._tokens]

    def cancel(self) -> None:
        """It ends before its next step, with the tokens that it has."""
        handle = self._handle
        if handle is not None:
            library().shardrt_text_cancel(handle)

    def __repr__(self) -> str:
        state = "done" if self._over else "under way"
        return f"<shardrt.Text, {len(self.prompt)} + {len(self._tokens)} tokens, {state}>"

    def _give(self, handle: int) -> None:
        self._handle = handle
        weakref.finalize(self, library().shardrt_text_destroy, handle)

    def _choose(self, logits: Logits) -> int:
        """The next id, or -1."""
        try:
            token = _token(self._choose_next(logits, self._all), logits.size)
        except BaseException as error:
            self._failed = error
            return -1
        if token is None:
            return -1
        with self._changed:
            if self._over:
                return -1
            self._tokens.append(token)
        self._all.append(token.id)
        self._tell(token)
        return -1 if token.is_last else token.id

    def _end(self, error: Optional[BaseException]) -> None:
        with self._changed:
            if self._over:
                return
            self._over, self.error = True, error or self._failed
            self._changed.notify_all()
        self._tell(None)

    def _tell(self, token: Optional[Token]) -> None:
        if self._listener is None:
            return
        try:
            self._listener(self, token)
        except Exception as error:
            self._failed = error
            self.cancel()
