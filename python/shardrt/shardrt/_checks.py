"""What callers give: numbers of the kind and in the range that they have to be, else an error by the name that the caller knows.

Nothing is converted: 2.5 is no number of tokens, and neither are "2" and True.
"""

from __future__ import annotations

import contextlib
import math
import numbers
import operator
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Optional

import numpy as np

from .errors import ArtifactError, InvalidArgument

MOST = 2**63 - 1
"""That C takes."""


class Range(NamedTuple):
    """What a number may be: in arguments and flags alike."""

    least: float = 0
    most: float = MOST
    is_open: bool = False
    """`least` itself is not in it."""

    def __str__(self) -> str:
        if self.is_open:
            return f"more than {self.least} and at most {self.most}"
        return f"{self.least} or more" if self.most >= MOST else f"{self.least} to {self.most}"

    def refusal(self, value: float) -> Optional[str]:
        """What is expected in place of one that is outside."""
        if self.least <= value <= self.most and not (self.is_open and value == self.least):  # nor is NaN
            return None
        return f"{self.least} to {self.most}" if value > MOST else str(self)


COUNT = Range(1)
TEXTS = Range(1, 1024)
"""Of a prompt: n, and beams."""
TOKENS = Range(1, 2**31 - 1)
THREADS = Range(0, 4096)
SECONDS = Range(0, 10**9)
"""From now."""
TIMEOUT = SECONDS._replace(is_open=True)


def whole(name: str, value: Any, within: Range = Range()) -> int:
    """An integer, NumPy's as well."""
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected a whole number")
    if expected := within.refusal(found):
        raise InvalidArgument(f"{name} is {found}, expected {expected}")
    return found


def number(name: str, value: Any) -> float:
    """A finite one."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected a number")
    if not math.isfinite(value):
        raise InvalidArgument(f"{name} is {value}, expected a finite number")
    return float(value)


def seconds(name: str, value: Any, within: Range = SECONDS) -> Optional[float]:
    """A time, which may be none."""
    if value is None:
        return None
    found = number(name, value)
    if expected := within.refusal(found):
        raise InvalidArgument(f"{name} is {value}, expected {expected} seconds, or None")
    return found


def given(name: str, value: Any, kind: type, *, optional: bool = True) -> None:
    """Whether it is of the class, or None."""
    if not isinstance(value, kind) and not (optional and value is None):
        raise TypeError(f"{name} is {shown(value)}, expected a {kind.__name__}{' or None' if optional else ''}")


def ids(name: str, values: Any, words: Optional[int] = None) -> list[int]:
    """Tokens, of which the model knows so many (None: it is not known how many)."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidArgument(f"{name} has {values.ndim} dimensions, expected ids")
    if isinstance(values, (str, bytes, bytearray)) or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {shown(values)}, expected ids")
    values = values.tolist() if isinstance(values, np.ndarray) else list(values)
    try:
        found = [operator.index(each) for each in values]
    except TypeError:
        found = None
    if found is None or any(isinstance(each, bool) for each in values):
        raise TypeError(f"{name} is {shown(values)}, expected ids, which are whole numbers")
    most = MOST if words is None else words - 1
    for token in found:
        if not 0 <= token <= most:
            raise InvalidArgument(f"{name}: there is no token {token}: expected {'ids from 0' if words is None else f'0 to {most}'}")
    return found


def flag(name: str, value: Any) -> bool:
    """0 and 1 are flags, too."""
    if not isinstance(value, (bool, np.bool_)) and value not in (0, 1):
        raise TypeError(f"{name} is {shown(value)}, expected True or False")
    return bool(value)


def names(kind: str, given: Iterable[Any], known: Iterable[str]) -> None:
    """Whether there are inputs, or outputs, of these names."""
    known = list(known)
    other = next((name for name in given if name not in known), None)
    if other is not None:
        listed = ", ".join(repr(name) for name in known)
        raise InvalidArgument(f"there is no {kind} {shown(other)}: the model's {kind}s are {listed}")


def path(name: str, value: Any) -> bytes:
    """As C takes it."""
    try:
        found = os.fsencode(value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}, expected a path") from None
    if not found or b"\0" in found:
        raise InvalidArgument(f"{name} is {value!r}, which is no path")
    return found


@contextlib.contextmanager
def room(name: str, value: int) -> Iterator[None]:
    """Around what takes memory for so many."""
    try:
        yield
    except ArtifactError as error:
        if "bad_alloc" not in str(error):
            raise
        raise ArtifactError(f"out of memory: {name} is {value}: ask for fewer") from None


def shown(value: Any) -> str:
    """In an error."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
