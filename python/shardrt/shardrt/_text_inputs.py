"""What a decoder takes of a row of tokens: which of its inputs are what, and their values.

Exporters agree on few names, and on what there is: token ids [batch, n], a mask of all positions so far, [batch, past + n]
with 1 for each or [batch, 1, n, past + n] with what each may see, and positions [batch, n] or [n].
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ._tensors import Array
from ._types import dtype_of
from .errors import InvalidArgument
from .session import ValueInfo

_TOKENS = ("input_ids", "decoder_input_ids", "tokens", "token_ids", "ids")
_INTEGERS = ("int32", "int64")
_ROLES = ("input_ids", "attention_mask", "position_ids", "use_cache")


def given_words(outputs: Iterable[ValueInfo], logits: Optional[str]) -> Optional[int]:
    """Tokens that there are logits for; of the first output that is no cache, if none is named. None: that is not known."""
    found = next((info for info in outputs if not info.is_cache and logits in (None, info.name)), None)
    return int(found.dims[-1]) if found is not None and found.dims and found.dims[-1].isdigit() else None


def check_stop_ids(name: str, ids: Iterable[int], words: Optional[int]) -> None:
    """Whether the model may give them."""
    other = next((token for token in ids if token < 0 or (words is not None and token >= words)), None)
    if other is not None:
        raise InvalidArgument(f"{name} has token {other}, expected {'ids from 0' if words is None else f'0 to {words - 1}'}")


class TextInputs:
    """Of a decoder, by its inputs without caches."""

    one_at_a_time: bool
    """Tokens, as the model was traced for one."""
    rows: int
    """In each run, where the model fixes its batch: a text is all of them."""
    length: Optional[int]
    """Positions in each run, where the model fixes them: what is behind a text is filled up."""
    one_row: bool
    """In a step, as the model makes one value of all positions."""
    words: Optional[int]
    """Tokens that the model knows, be its logits more or fewer; None: ranks find those that it has not."""

    def __init__(self, infos: Iterable[ValueInfo], names: Optional[Mapping[str, str]] = None) -> None:
        """names: by role ("input_ids", "attention_mask", "position_ids"), where the model's files say."""
        infos = list(infos)
        self._roles: dict[str, tuple[str, np.dtype[Any], int]] = {}
        given = {name: role for role, name in (names or {}).items()}
        self.others: tuple[str, ...] = ()
        rest = []
        for info in infos:
            if info.is_cache or info.name.startswith("rows."):
                continue
            role = given.get(info.name) or _role(info)
            if role in _ROLES and role not in self._roles:
                self._roles[role] = info.name, dtype_of(info.dtype, f"input '{info.name}'"), len(info.dims)
            else:
                rest.append(info)
        if "input_ids" not in self._roles:
            tokens = [info for info in rest if info.dtype in _INTEGERS and len(info.dims) == 2]
            if len(tokens) != 1:
                found = ", ".join(str(info) for info in rest)
                raise ValueError(f"which input are the tokens? expected one named {_TOKENS[0]}, found {found or 'none'}")
            rest.remove(tokens[0])
            self._roles["input_ids"] = tokens[0].name, dtype_of(tokens[0].dtype, tokens[0].name), 2
        self.others = tuple(info.name for info in rest)
        ids = next(info for info in infos if info.name == self._roles["input_ids"][0])
        self._has_caches = any(info.is_cache for info in infos)
        self._batched = {info.name for info in infos if len(info.dims) > 1 and info.dims[0] == ids.dims[0]}
        self.one_at_a_time, self.words = ids.dims[1] == "1", ids.num_rows
        self._ids = ids
        self.rows = int(ids.dims[0]) if ids.dims[0].isdigit() else 1
        in_parts = self.one_at_a_time and self._has_caches
        self.length = int(ids.dims[1]) if ids.dims[1].isdigit() and not in_parts else None
        self.one_row = any(info.name == "rows.past" and info.dims == ("1",) for info in infos)

    def check_sizes(self, logits: ValueInfo) -> None:
        """Whether a text may come by itself, of any length, or in the sizes that there are: what is behind it is filled up,
        and what is beside it is the same once more."""
        if self.rows == 1 and self.length is None:
            return
        remedy = "export the model with names for its batch and its positions (dynamic_shapes, dynamic_axes)"
        ids = f"input '{self._ids.name}' is [{', '.join(self._ids.dims)}]"
        if self._has_caches:
            raise ValueError(f"{ids}, expected one text of any length, as the model has caches: {remedy}")
        if self.length is not None and "attention_mask" not in self._roles:
            raise ValueError(f"{ids}, and no attention_mask says where a text ends in it: {remedy}")
        if self.length is not None and logits.dims[:-1] != self._ids.dims:
            raise ValueError(f"{ids}, and '{logits.name}' is [{', '.join(logits.dims)}], expected logits of each position: {remedy}")

    def check(self, extra: Mapping[str, Any]) -> None:
        """Whether what a caller gives beside the tokens is what there is beside them."""
        for name in extra:
            if name not in self.others:
                raise ValueError(f"inputs: '{name}' is none of those that a text needs beside its tokens: "
                                 f"{', '.join(self.others) or 'there is none'}")  # fmt: skip
        missing = [name for name in self.others if name not in extra]
        if missing:
            raise ValueError(f"the model takes {', '.join(missing)} beside tokens: give it for each prompt, as inputs=[{{...}}]")

    def row(self, tokens: Sequence[int], past: int, extra: Mapping[str, Any], again: bool = False) -> dict[str, Any]:
        """Of tokens behind `past` positions. What an encoder gave (of floats) comes with the first, or again with all, its
        mask with all."""
        count = len(tokens)
        values: dict[str, Any] = {}
        for role, (name, dtype, rank) in self._roles.items():
            if role == "input_ids":
                values[name] = np.asarray([tokens], dtype)
            elif role == "position_ids":
                positions = np.arange(past, past + count, dtype=dtype)
                values[name] = positions if rank == 1 else positions[None]
            elif role == "use_cache":
                values[name] = np.full((1,) * rank, past > 0)
            else:
                values[name] = np.ones((1, past + count), dtype) if rank == 2 else _seen(past, count, dtype)
        for name, value in extra.items():
            if past == 0 or again or np.asarray(value).dtype.kind in "biu":
                values[name] = value
        return values

    def whole(self, tokens: Sequence[int], extra: Mapping[str, Any]) -> dict[str, Any]:
        """Of all tokens of a text, in the sizes that the model has."""
        rest = 0 if self.length is None else self.length - len(tokens)
        values = self.row([*tokens, *[tokens[0]] * rest], 0, extra, again=True)
        mask = self._roles.get("attention_mask")
        if rest and mask is not None and mask[2] == 2:
            values[mask[0]][:, len(tokens) :] = 0
        for name, value in values.items():
            if self.rows > 1 and name in self._batched and len(value) == 1:
                values[name] = np.repeat(value, self.rows, axis=0)
        return values

    def __repr__(self) -> str:
        return f"<TextInputs {', '.join(f'{name} as {role}' for role, (name, _, _) in self._roles.items())}>"


def _role(info: ValueInfo) -> Optional[str]:
    name, rank, whole = info.name.lower(), len(info.dims), info.dtype in _INTEGERS
    if "encoder" in name and not name.startswith("decoder"):
        return None
    if name in _TOKENS and whole and rank == 2:
        return "input_ids"
    if "use_cache" in name and info.dtype == "bool" and rank < 2:
        return "use_cache"
    if "mask" in name and rank in (2, 4):
        return "attention_mask"
    if "position" in name and whole and rank in (1, 2):
        return "position_ids"
    return None


def _seen(past: int, count: int, dtype: np.dtype[Any]) -> Array:
    """[1, 1, count, past + count]: of booleans what each sees, of numbers what is added to its scores."""
    seen = np.arange(past + count) <= np.arange(past, past + count)[:, None]
    if dtype == np.bool_:
        return seen[None, None]
    return np.where(seen, 0, -6e4 if dtype == np.float16 else -1e9).astype(dtype)[None, None]
