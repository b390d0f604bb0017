"""Tokens of one text as answers have them, beside their log-probabilities."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Optional

from ..tokenizer import Tokenizer

_MOST_BEFORE = 16


class TokenTexts:
    """Tokens come in order. Each is what it adds to the text; a part of a character, which is none, as its bytes are written,
    \\xf0\\x9f, so that different tokens are different."""

    def __init__(self, tokenizer: Optional[Tokenizer], after: Sequence[int] = (), offset: int = 0) -> None:
        """after: ids that the text goes on from; offset: characters that are shown before it."""
        self._tokenizer, self._after = tokenizer, list(after[-_MOST_BEFORE:])
        self._whole = codecs.getincrementaldecoder("utf-8")("replace")
        self.offset = offset
        """Characters before the next token."""

    def of(self, token: int) -> tuple[str, bytes]:
        """One that may come next: its text and bytes."""
        if self._tokenizer is None:
            text = f"token_id:{token}"
            return text, text.encode()
        own = self._tokenizer.bytes_of(token, self._after)
        try:
            return own.decode(), own
        except UnicodeDecodeError:
            return "".join(f"\\x{byte:02x}" for byte in own), own

    def push(self, token: int) -> None:
        """This one came."""
        self.offset += len(self._whole.decode(self.of(token)[1]))
        self._after = [*self._after[1 - _MOST_BEFORE :], token]
