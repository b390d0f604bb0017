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
from typing import Any, Optional

import numpy as np

from .errors import ArtifactError, InvalidArgument

MOST = 2**63 - 1
"""That C takes."""
MOST_TEXTS = 1024
"""Of a prompt: n, and beams."""
MOST_TOKENS = 2**31 - 1
MOST_THREADS = 4096
MOST_SECONDS = 10**9


def whole(name: str, value: Any, least: float = 0, most: float = MOST) -> int:
    """An integer, NumPy's as well."""
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected a whole number")
    if not least <= found <= most:
        raise InvalidArgument(f"{name} is {found}, expected {f'{least} or more' if most >= MOST > found else f'{least} to {most}'}")
    return found


def number(name: str, value: Any) -> float:
    """A finite one."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected a number")
    if not math.isfinite(value):
        raise InvalidArgument(f"{name} is {value}, expected a finite number")
    return float(value)


def seconds(name: str, value: Any, *, positive: bool = False) -> Optional[float]:
    """A time from now, which may be none."""
    if value is None:
        return None
    found = number(name, value)
    if not 0 <= found <= MOST_SECONDS or (positive and found == 0):
        least = "more than 0" if positive else "0 or more"
        raise InvalidArgument(f"{name} is {value}, expected {least} and at most {MOST_SECONDS} seconds, or None")
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
