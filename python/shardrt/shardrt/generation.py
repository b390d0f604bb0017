"""What a generator is asked for, and what it gives."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from . import _checks
from .sampling import Sampling


@dataclass(frozen=True)
class Options(Sampling):
    """How a text goes on, and where it ends: beside what Sampling has."""

    max_tokens: int = 256
    """New ones at most."""
    stop: Sequence[str] = ()
    """The text ends before any of these strings; a string by itself is one."""
    stop_ids: Sequence[int] = ()
    """And with any of these tokens, beside those that end a text of this model."""
    ignore_eos: bool = False
    """Go on behind tokens that end a text of this model."""
    continues: bool = True
    """The text goes on from the prompt, with the space between them; False: it begins anew, as the answer of a chat."""
    n: int = 1
    """Texts for each prompt: of a seed the streams 0, 1, ..., or the best beams."""
    top_logprobs: int = 0
    """Also the likeliest tokens at each position, so many."""
    beams: int = 1
    """More than 1: the likeliest texts by search, instead of a draw."""
    length_penalty: float = 1.0
    """Beams are compared by log-probability over length to this power."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.stop, str):
            object.__setattr__(self, "stop", (self.stop,))
        for name, within in (("max_tokens", _checks.TOKENS), ("n", _checks.TEXTS), ("beams", _checks.TEXTS)):
            _checks.whole(name, getattr(self, name), within)
        _checks.whole("top_logprobs", self.top_logprobs)
        _checks.number("length_penalty", self.length_penalty)
        _checks.ids("stop_ids", self.stop_ids)
        if not isinstance(self.stop, Sequence) or not all(isinstance(each, str) for each in self.stop):
            raise TypeError(f"stop is {_checks.shown(self.stop)}, expected a string, or several")
        if "" in self.stop:
            raise ValueError("a stop string is empty")
        if self.beams > 1:
            if self.n > self.beams:
                raise ValueError(f"n is {self.n}, expected no more than there are beams, {self.beams}")
            if self.stop or self.temperature or self.top_logprobs:
                raise ValueError("beams take no stop strings, temperature or top_logprobs: they are a search for likely tokens")


def options_of(given: Mapping[str, Any]) -> Options:
    """Of keywords."""
    known = [each.name for each in fields(Options)]
    other = next((name for name in given if name not in known), None)
    if other is not None:
        near = difflib.get_close_matches(other, known, 1)
        raise TypeError(f"there is no option {other!r}" + (f": did you mean {near[0]!r}?" if near else f", but {', '.join(known)}"))
    return Options(**given)


@dataclass(frozen=True)
class Piece:
    """A token of a text, as soon as it is there."""

    prompt: int
    """Of which prompt, from 0."""
    index: int
    """Which of its texts, from 0."""
    text: str
    """What is certain of the text behind that of the piece before: whole characters, and no beginning of a stop string."""
    id: int
    """Of the token."""
    logprob: float
    """Logarithm of the probability that the model gives the token, before anything was done to it."""
    top_logprobs: tuple[tuple[int, float], ...] = ()
    """(id, logprob) of the likeliest."""
    finish_reason: str = ""
    """Of the last piece "stop" or "length"."""


@dataclass
class Generation:
    """A text."""

    prompt: int
    """Of which prompt, from 0."""
    index: int
    """Which of its texts, from 0."""
    prompt_ids: list[int]
    """Tokens of the prompt."""
    text: str = ""
    """Without the prompt, and without what ended it."""
    ids: list[int] = field(default_factory=list)
    """Its tokens, with the one that ended it."""
    logprobs: list[float] = field(default_factory=list)
    """Of each of them, as in Piece."""
    top_logprobs: list[tuple[tuple[int, float], ...]] = field(default_factory=list)
    """(id, logprob) of the likeliest at each of them, where they were asked for."""
    finish_reason: str = ""
    """"stop": by a token or string; "length": max_tokens, or all positions that the model knows."""
    score: float = 0.0
    """Of a beam: what it was compared by."""
