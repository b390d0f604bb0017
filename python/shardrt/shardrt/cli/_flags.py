"""Flags whose values are checked as they are read: what is wrong is one line, with the flag and what it takes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NoReturn

from .. import _checks


class Parser(argparse.ArgumentParser):
    """Of a command and of its subcommands."""

    def error(self, message: str) -> NoReturn:
        """Without the usage, which is longer than what is wrong."""
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


def whole(within: _checks.Range = _checks.Range()) -> Callable[[str], int]:
    """Type of a flag: an integer."""

    def read(text: str) -> int:
        try:
            found = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number: expected {within}") from None
        if expected := within.refusal(found):
            raise argparse.ArgumentTypeError(f"{text}, expected {expected}")
        return found

    return read


def seconds(text: str) -> float:
    """Type of a flag: a time."""
    try:
        found = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number: expected seconds") from None
    if expected := _checks.TIMEOUT.refusal(found):
        raise argparse.ArgumentTypeError(f"{text}, expected {expected} seconds")
    return found


def name(text: str) -> str:
    """Type of a flag: a part of paths of HTTP."""
    if not text or any(each in "/?#%" or ord(each) <= 32 for each in text):
        raise argparse.ArgumentTypeError(f"{text!r}, expected a name without space, /, ?, # and %, as it is a part of addresses")
    return text


def said(what: str) -> Callable[[str], str]:
    """Type of a flag that is not empty, as one of a variable that is not set would be."""

    def read(text: str) -> str:
        if not text:
            raise argparse.ArgumentTypeError(f"it is empty: expected {what}, or no such flag")
        return text

    return read
