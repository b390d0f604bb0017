"""How new tokens of texts become logits: rows of one step, runs with a state each, or runs of all that there is so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Protocol, cast

import numpy as np

from ._tensors import Array
from ._text_inputs import TextInputs
from .cancellation import Cancellation
from .sequences import Pool, Row, Sequence as RowSequence
from .session import Session
from .state import State


class Kept(Protocol):
    """What a model keeps of a text."""

    def __len__(self) -> int:
        """Positions so far."""

    def fork(self) -> Kept: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class NewTokens:
    """Of a text, behind the positions that it has."""

    of: Kept
    tokens: Sequence[int]
    extra: Mapping[str, Any]
    wanted: bool
    """Whether logits behind the last of them are."""


class Steps(Protocol):
    page: int
    """Positions that there is room for come in so many."""
    pages: int
    most: int
    """Tokens of prompts in one step."""
    of_row: int
    """Tokens of a text in one step."""
    in_parts: bool
    """Whether a prompt may come in several steps."""

    def begin(self, positions: int) -> Kept:
        """A text that is empty, and may have so many."""

    def run(self, items: Sequence[NewTokens], cancellation: Optional[Cancellation]) -> list[Array]:
        """Logits of each that wants them."""

    def close(self) -> None: ...


class RowSteps:
    """All texts in one step, of a model that was compiled with --serve; or, where its steps have one row, each in its own."""

    def __init__(self, pool: Pool, inputs: TextInputs, logits: str, *, most: int, in_parts: bool) -> None:
        self.pool, self._inputs, self._logits = pool, inputs, logits
        self.page, self.pages, self.most = pool.page, pool.pages, most
        self.of_row = 1 if inputs.one_at_a_time else most
        self.in_parts = inputs.one_at_a_time or (in_parts and not inputs.one_row)

    def begin(self, positions: int) -> Kept:
        return self.pool.sequence()

    def run(self, items: Sequence[NewTokens], cancellation: Optional[Cancellation]) -> list[Array]:
        rows = [Row(cast(RowSequence, item.of), self._inputs.row(item.tokens, len(item.of), item.extra),
                    "last" if item.wanted else "none") for item in items]  # fmt: skip
        steps = [[row] for row in rows] if self._inputs.one_row else [rows]
        found: list[Array] = []
        for step in steps:
            logits = self.pool.step(step, cancellation=cancellation)[self._logits]
            found.extend(logits.reshape(-1, logits.shape[-1]))
        return found

    def close(self) -> None:
        self.pool.close()


class RequestSteps:
    """One text after the other, of a model that was compiled for requests: each with a state of its own for its caches, or,
    where the model has none, all of it again for each token."""

    page = 1

    def __init__(self, session: Session, inputs: TextInputs, logits: str, *, positions: int) -> None:
        self._session, self._inputs, self._logits, self.pages = session, inputs, logits, positions
        self._cached = any(info.is_cache for info in session.inputs)
        self.in_parts = self._cached and inputs.one_at_a_time
        self.most = positions
        self.of_row = 1 if self.in_parts else positions

    def begin(self, positions: int) -> Kept:
        return _StateText(self._session.state(positions)) if self._cached else _WholeText([])

    def run(self, items: Sequence[NewTokens], cancellation: Optional[Cancellation]) -> list[Array]:
        found = []
        for item in items:
            if isinstance(item.of, _StateText):
                given = self._inputs.row(item.tokens, len(item.of), item.extra, again=True)
                logits = self._run(given, item.of.state, cancellation)
                last = -1
            else:
                text = cast(_WholeText, item.of)
                text.ids = [*text.ids, *item.tokens]
                logits = self._run(self._inputs.whole(text.ids, item.extra), None, cancellation)
                last = -1 if self._inputs.length is None else len(text.ids) - 1
            if item.wanted:
                found.append(logits.reshape(-1, logits.shape[-1])[last])
        return found

    def _run(self, inputs: Mapping[str, Any], state: Optional[State], cancellation: Optional[Cancellation]) -> Array:
        return np.asarray(self._session.run(inputs, state=state, cancellation=cancellation)[self._logits])

    def close(self) -> None:
        pass


class _StateText:
    def __init__(self, state: State) -> None:
        self.state = state

    def __len__(self) -> int:
        return self.state.length

    def fork(self) -> Kept:
        return _StateText(self.state.fork())

    def close(self) -> None:
        self.state.close()


class _WholeText:
    def __init__(self, ids: list[int]) -> None:
        self.ids = ids

    def __len__(self) -> int:
        return len(self.ids)

    def fork(self) -> Kept:
        return _WholeText(list(self.ids))

    def close(self) -> None:
        self.ids = []
