"""Files of JSON that others wrote: what is wrong in one is an error that names it, and what was expected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._checks import shown


def read_object(file: Path) -> dict[str, Any]:
    """Empty where there is no such file."""
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{file} is {shown(found)}, expected an object of JSON")
    return found


def part(file: Path, of: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """An object within others; empty where there is none, or null."""
    found: Any = of
    for depth, name in enumerate(names):
        found = found.get(name)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise ValueError(f"{file}: {'.'.join(names[: depth + 1])} is {shown(found)}, expected an object")
    return dict(found)
