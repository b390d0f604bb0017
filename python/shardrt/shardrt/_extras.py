"""Packages of others that a part of this one needs: imported when it is used, and named where they are missing."""

from __future__ import annotations

import importlib
from typing import Any


def need(module: str, extra: str) -> Any:
    """The module, or an ImportError that says what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{package} is not installed ({error}): pip install 'shardrt[{extra}]'") from None
