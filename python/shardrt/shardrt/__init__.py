"""Runs transformers that shardc compiled for many devices, from Python.

    import shardrt

    with shardrt.Session("model.shard") as session:
        print(session)                                       # inputs, outputs, ranks
        logits = session.run({"input_ids": ids})["logits"]   # NumPy, or anything with __dlpack__

    with shardrt.Generator("decoder.shard", tokenizer="tokenizer.json") as generator:
        print(generator.generate("Once upon a time").text)
"""

from ._library import library as _library
from .bindings import Binding
from .cancellation import Cancellation
from .encoding import run_texts
from .errors import ArtifactError, Busy, Cancelled, DeadlineExceeded, Error, InvalidArgument, Unavailable
from .generation import Generation, Options, Piece
from .generator import Generator
from .processes import Processes, join
from .sampling import Sampling
from .sequences import Pool, Row, Sequence
from .server import Counts, Server
from .session import Session, Spent, ValueInfo
from .state import State
from .statistics import Device, Statistics, devices
from .texts import Chooser, Text, Token
from .tokenizer import Tokenizer

__version__ = "0.1.0"
__all__ = [
    "ArtifactError", "Binding", "Busy", "Cancellation", "Cancelled", "Chooser", "Counts", "DeadlineExceeded", "Device", "Error",
    "Generation", "Generator", "InvalidArgument", "Options", "Piece", "Pool", "Processes", "Row", "Sampling", "Sequence", "Server",
    "Session", "Spent", "State", "Statistics", "Text", "Token", "Tokenizer", "Unavailable", "ValueInfo", "devices", "join",
    "library_version", "run_texts",
]  # fmt: skip


def library_version() -> str:
    """Of libshardrt.so, which is loaded at first use."""
    return str(_library().shardrt_version().decode())
