"""What the compiler refuses, as an exception: what, where, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional

_NODE_IN_TEXT = re.compile(r"(?:node|tensor|weight) '([^']+)'|first \"([^\"]+)\"")


@dataclass(frozen=True)
class Note:
    """What goes with an error, at another node (None: of the whole) or beside it."""

    node: Optional[str]
    """Of the ONNX model."""
    text: str
    """What there is to say."""


class CompileError(Exception):
    """`str(error)` is all that the compiler has said; fields are those of the first error."""

    node: Optional[str]
    """The ONNX node, tensor or weight that it names; None: the file, or the flags."""
    what: str
    """What is wrong, without the remedy."""
    remedy: Optional[str]
    """What to do about it; None where the compiler knows of nothing."""
    notes: tuple[Note, ...]
    """Of other places."""
    code: int
    """The exit status: 2 wrong flags, 3 the model, 4 what is written, 1 a rule or a comparison failed."""
    warnings: tuple[str, ...]
    """That came before it."""

    def __init__(self, said: str, code: int, model: Optional[str] = None) -> None:
        lines = [line for line in said.splitlines() if line.strip()]
        self.warnings = tuple(line[len("warning: ") :] for line in lines if line.startswith("warning: "))
        errors = [line[len("error: ") :] for line in lines if line.startswith("error: ")]
        text = errors[0] if errors else said.strip() or f"shardc ended with status {code}"
        self.notes = tuple(_note(line) for line in lines if line.lstrip().startswith("note: "))
        self.node, text = _split_node(text, model)
        self.what, self.remedy = _split_remedy(text)
        if self.node is None:
            self.node = next((note.node for note in self.notes if note.node is not None), None)
        if self.remedy is None and self.notes:  # the last note has it
            text = re.sub(r".*?\(\d+ \w+, first \".*?\"\): ", "", self.notes[-1].text)
            self.remedy = _split_remedy(text)[1] or text
        self.code = code
        super().__init__("\n".join(line for line in lines if not line.startswith("warning: ")) or text)


def _split_node(text: str, model: Optional[str]) -> tuple[Optional[str], str]:
    """"NODE: what" and "MODEL: what", the latter with the node that the text names, if any."""
    if model is not None and text.startswith(f"{model}: "):
        text = text[len(model) + 2 :]
        if text.startswith("--"):
            return None, text
    elif match := re.match(r"(?!--)(\S[^:]*(?:::[^:]+)*): (?=\S)", text):
        if not re.search(r"\s", match[1]) and not match[1].endswith((".onnx", ".mlir", ".json")):
            return match[1], text[match.end() :]
    named = _NODE_IN_TEXT.search(text)
    return ((named[1] or named[2]) if named else None), text


def _split_remedy(text: str) -> tuple[str, Optional[str]]:
    what, semicolon, remedy = text.rpartition("; ")
    return (what, remedy) if semicolon else (text, None)


def _note(line: str) -> Note:
    text = line.lstrip()[len("note: ") :]
    node, rest = _split_node(text, None)
    return Note(node, rest if node and text.startswith(f"{node}: ") else text)
