"""What goes wrong, as exceptions: what, and where it was."""

from __future__ import annotations

import ctypes
from typing import Optional

from ._library import ErrorInfoOfC, library


class Error(Exception):
    """The message is that of the runtime, which also says where it was, as far as it knows, else None."""

    rank: Optional[int]
    """Of the world; of ranks that did not come in time the first of them."""
    stage: Optional[int]
    """Of the pipeline."""
    instruction: Optional[int]
    """Of the rank's program."""
    node: Optional[str]
    """Of the ONNX model."""
    operator: Optional[str]
    """What ran there: "MatMul", "all_reduce"."""

    def __init__(
        self,
        message: str,
        *,
        rank: Optional[int] = None,
        stage: Optional[int] = None,
        instruction: Optional[int] = None,
        node: Optional[str] = None,
        operator: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.rank, self.stage, self.instruction, self.node, self.operator = rank, stage, instruction, node, operator


class InvalidArgument(Error, ValueError):
    """An argument or an input does not fit, violates a guard of the model, or leads to an index that there is not."""


class ArtifactError(Error, RuntimeError):
    """The artifact, its weights, or something while it ran."""


class Busy(Error, RuntimeError):
    """A server has as many texts as may wait; try again later."""


class Unavailable(ArtifactError):
    """A server whose ranks are lost; it is being opened again. Where that was is said by the error `of` which they are."""

    def __init__(self, message: str, of: Optional[Error] = None) -> None:
        super().__init__(message)
        if of is not None:
            self.rank, self.stage, self.instruction, self.node, self.operator = of.rank, of.stage, of.instruction, of.node, of.operator


class Cancelled(Error):
    """The run was cancelled."""


class DeadlineExceeded(Error, TimeoutError):
    """The run was not done in time."""


_KINDS: dict[int, type[Error]] = {2: InvalidArgument, 6: Cancelled, 7: DeadlineExceeded}


def last_error(status: int) -> Error:
    """That of the last call of this thread that failed, with this shardrt_status."""
    info = ErrorInfoOfC(size=ctypes.sizeof(ErrorInfoOfC))
    library().shardrt_last_error_info(ctypes.byref(info))
    rank, stage, instruction = (None if number < 0 else number for number in (info.rank, info.stage, info.instruction))
    node, operator = (text.decode(errors="replace") or None for text in (info.node, info.kernel))
    kind = _KINDS.get(status, ArtifactError)
    message = info.message.decode(errors="replace")
    return kind(message, rank=rank, stage=stage, instruction=instruction, node=node, operator=operator)


def status_of(error: Optional[BaseException]) -> int:
    """As C has it; SHARDRT_OK of none."""
    if error is None:
        return 0
    return next((status for status, kind in _KINDS.items() if isinstance(error, kind)), 4)


def check(status: int) -> None:
    """Raises what a call has returned, unless it is SHARDRT_OK."""
    if status != 0:
        raise last_error(status)
