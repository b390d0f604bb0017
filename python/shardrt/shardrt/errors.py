"""What goes wrong, as exceptions: what, and where it was."""

from __future__ import annotations

import re
from typing import Optional

from ._library import library

_NODE = re.compile(r"at node '([^']*)'")
_RANK = re.compile(r"\brank (\d+)\b")
_STAGE = re.compile(r"\bstage (\d+)\b|\brank \d+ \([^)]*\bpp (\d+)")
_OPERATOR = re.compile(r"(\w+) at node '")


class Error(Exception):
    """The message is that of the runtime. `rank`, `stage`, `node` (of the ONNX model) and `operator` say where it was, as
    far as the message names them, else None."""

    rank: Optional[int]
    stage: Optional[int]
    node: Optional[str]
    operator: Optional[str]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        rank, stage = _RANK.search(message), _STAGE.search(message)
        node, operator = _NODE.search(message), _OPERATOR.search(message)
        self.rank = int(rank[1]) if rank else None
        self.stage = int(stage[1] or stage[2]) if stage else None
        self.node = node[1] if node else None
        self.operator = operator[1] if operator else None


class InvalidArgument(Error, ValueError):
    """An argument or an input does not fit; nothing has run."""


class ArtifactError(Error, RuntimeError):
    """The artifact, its weights, an assumption that it was compiled with, or something while it ran."""


class Busy(Error, RuntimeError):
    """A server has as many texts as may wait; try again later."""


class Unavailable(ArtifactError):
    """A server whose ranks are lost; it is being opened again."""


class Cancelled(Error):
    """The run was cancelled."""


class DeadlineExceeded(Error, TimeoutError):
    """The run was not done in time."""


_KINDS: dict[int, type[Error]] = {2: InvalidArgument, 6: Cancelled, 7: DeadlineExceeded}


def error_of(status: int, message: str) -> Error:
    """As a shardrt_status and its message say it."""
    return _KINDS.get(status, ArtifactError)(message)


def status_of(error: Optional[BaseException]) -> int:
    """As C has it; SHARDRT_OK of none."""
    if error is None:
        return 0
    return next((status for status, kind in _KINDS.items() if isinstance(error, kind)), 4)


def check(status: int) -> None:
    """Raises what a call has returned, unless it is SHARDRT_OK."""
    if status != 0:
        raise error_of(status, library().shardrt_last_error().decode(errors="replace"))
