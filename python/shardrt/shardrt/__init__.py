"""Runs transformers that shardc compiled for many devices, from Python.

    import shardrt

    with shardrt.Session("model.shard") as session:
        print(session)                                       # inputs, outputs, ranks
        logits = session.run({"input_ids": ids})["logits"]   # NumPy, or anything with __dlpack__
"""

from ._library import library as _library
from .errors import ArtifactError, Cancelled, DeadlineExceeded, Error, InvalidArgument
from .sequences import Pool, Row, Sequence
from .session import Cancellation, Session, State, ValueInfo

__version__ = "0.1.0"
__all__ = [
    "ArtifactError", "Cancellation", "Cancelled", "DeadlineExceeded", "Error", "InvalidArgument", "Pool", "Row", "Sequence",
    "Session", "State", "ValueInfo", "library_version",
]  # fmt: skip


def library_version() -> str:
    """Of libshardrt.so, which is loaded at first use."""
    return str(_library().shardrt_version().decode())
