"""Texts of different lengths through a model without caches, BERT and the like, in one call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _checks
from ._tensors import Array
from ._types import dtype_of
from .cancellation import Cancellation
from .session import Session, ValueInfo
from .tokenizer import Tokenizer

# How exporters name what follows from the tokens. (Of a text that is no pair all types are 0.)
_TOKENS, _MASK, _TYPES, _POSITIONS = "input_ids", "attention_mask", "token_type_ids", "position_ids"


def run_texts(
    session: Session,
    texts: Sequence[Union[str, Sequence[int]]],
    tokenizer: Optional[Tokenizer] = None,
    *,
    pad_id: Optional[int] = None,
    inputs: Optional[Mapping[str, Any]] = None,
    deadline: Optional[float] = None,
    cancellation: Optional[Cancellation] = None,
) -> list[dict[str, Array]]:
    """Runs texts (or ids of them) as one request, and returns the outputs of each, by name, as if it had run alone.

        tokenizer = shardrt.Tokenizer.from_file("model/tokenizer.json")
        for outputs in shardrt.run_texts(session, ["one", "and a longer one"], tokenizer):
            outputs["last_hidden_state"]        # [positions of the text, hidden]: no batch, no padding

    Shorter texts are filled up with pad_id (None: that of the tokenizer, or 0), which attention_mask hides. A model without
    such a mask runs texts of one length at a time, and one whose rows are not independent (Session.has_independent_rows, as
    of dynamic quantisation) each text by itself. Of a model with a fixed batch there may be any number of texts as well;
    where it has a fixed length, an output [batch, so many] stays whole, since these need not be positions.

    inputs: of the whole request, what the model takes beside input_ids, attention_mask, token_type_ids and position_ids.
    """
    if isinstance(texts, str):
        raise TypeError(f"texts: expected a list of texts, found one: [{texts[:20]!r}]")
    known = {info.name: info for info in session.inputs}
    if _TOKENS not in known or len(known[_TOKENS].dims) != 2:
        raise ValueError(f"the model has no input {_TOKENS} of [batch, sequence]: give its inputs to Session.run")
    rows = [_ids(text, tokenizer, known[_TOKENS].num_rows) for text in texts]
    if pad_id is None:
        pad_id = tokenizer.pad_id if tokenizer is not None and tokenizer.pad_id is not None else 0
    batch, length = (int(dim) if dim.isdigit() else None for dim in known[_TOKENS].dims)
    if length is not None and max(map(len, rows), default=0) > length:
        raise ValueError(f"a text has {max(map(len, rows))} tokens, and the model takes {length}: shorten it")
    found: list[dict[str, Array]] = [{} for _ in rows]
    for part in _parts(rows, batch, together=_MASK in known, alone=not session.has_independent_rows):
        some = [rows[number] for number in part]
        some += some[:1] * ((batch or 0) - len(some))  # those that nobody asked for
        given = _request(known, some, length or max(map(len, some)), pad_id)
        outputs = session.run({**given, **(inputs or {})}, deadline=deadline, cancellation=cancellation)
        for place, number in enumerate(part):
            found[number] = {
                info.name: _own(outputs[info.name], info, known[_TOKENS], place, len(rows[number])) for info in session.outputs
            }
    return found


def _ids(text: Union[str, Sequence[int]], tokenizer: Optional[Tokenizer], words: Optional[int]) -> list[int]:
    if isinstance(text, str):
        if tokenizer is None:
            raise ValueError("texts need a tokenizer: give one, or lists of ids")
        text = tokenizer.encode(text)
    if not len(text):
        raise ValueError("a text has no tokens")
    return _checks.ids("a text", text, words)


def _parts(rows: Sequence[Sequence[int]], batch: Optional[int], together: bool, alone: bool) -> Iterator[list[int]]:
    """Numbers of rows that are one request: all, if different lengths may be together and the batch is open."""
    if alone:
        yield from ([number] for number in range(len(rows)))
        return
    kinds: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        kinds.setdefault(0 if together else len(row), []).append(number)
    for numbers in kinds.values():
        size = batch or len(numbers)
        yield from (numbers[begin : begin + size] for begin in range(0, len(numbers), size))


def _request(known: Mapping[str, ValueInfo], rows: Sequence[Sequence[int]], length: int, pad_id: int) -> dict[str, Array]:
    lengths = np.array([len(row) for row in rows])
    values = {
        _TOKENS: np.array([[*row, *[pad_id] * (length - len(row))] for row in rows]),
        _MASK: np.arange(length) < lengths[:, None],
        _TYPES: np.zeros((len(rows), length)),
        _POSITIONS: np.tile(np.arange(length), (len(rows), 1)),
    }
    return {name: value.astype(dtype_of(known[name].dtype, name)) for name, value in values.items() if name in known}


def _own(output: Array, info: ValueInfo, tokens: ValueInfo, place: int, count: int) -> Array:
    """Of one text: its place of the batch, and as many positions as it has."""
    batch, length = tokens.dims
    if not info.dims or (info.dims[0] != batch and not batch.isdigit()):
        return output
    symbolic, deep = not length.isdigit(), len(info.dims) > 2
    own: list[Any] = [place]
    for axis, dim in enumerate(info.dims[1:]):
        own.append(slice(count) if dim == length and (symbolic or (axis == 0 and deep)) else slice(None))
    found: Array = output[tuple(own)]
    return found
