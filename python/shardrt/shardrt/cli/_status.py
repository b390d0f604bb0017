"""Exit codes, those of shardrun and shardc: whose error it is."""

from __future__ import annotations

from .. import errors

FLAGS = 2
"""Flags, or files that they name."""
RUNNING = 4
"""The artifact, the machine, or what happened while running."""


def status_of(error: BaseException) -> int:
    """Of a command that ended with it."""
    if isinstance(error, errors.Error):
        return FLAGS if isinstance(error, errors.InvalidArgument) else RUNNING
    return FLAGS if isinstance(error, (ValueError, TypeError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)) else RUNNING
