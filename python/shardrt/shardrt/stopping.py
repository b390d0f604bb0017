"""Where a text ends: strings that may begin in one piece and end in a later one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional


class StopStrings:
    """Holds back what may be the beginning of a stop string.

    stops = StopStrings(["\\n\\n"])
    stops.push("one\\n")     # "one": the line's end may be the first of two
    stops.push("\\ntwo")     # "", and stops.found is "\\n\\n"
    """

    def __init__(self, strings: Sequence[str]) -> None:
        if "" in strings:
            raise ValueError("a stop string is empty")
        self._strings = tuple(strings)
        self._held = ""
        self.found: Optional[str] = None

    def push(self, text: str) -> str:
        """What is certainly before any stop string. Nothing comes behind one that was found."""
        if self.found is not None:
            return ""
        text = self._held + text
        # The one that is complete first; of several that are at once, the one that begins first.
        ends = [(text.find(each) + len(each), text.find(each), each) for each in self._strings if each in text]
        if ends:
            _, begin, self.found = min(ends)
            self._held = ""
            return text[:begin]
        keep = max((_overlap(text, each) for each in self._strings), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def finish(self) -> str:
        """What was held back, and is no stop string after all."""
        text, self._held = self._held, ""
        return text


def _overlap(text: str, stop: str) -> int:
    """How much of the end of a text is the beginning of a stop string."""
    return next((size for size in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:size])), 0)
