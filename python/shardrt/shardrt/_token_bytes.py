"""Bytes of tokens that are parts of characters."""

from __future__ import annotations

import json
import re
from typing import Any, Optional

_FALLBACK = re.compile("<0x([0-9A-F]{2})>")


def _alphabet() -> dict[str, int]:
    """How GPT-2's vocabularies write bytes: those that are seen as themselves, others from 256 on."""
    seen = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in seen]
    return {**{chr(byte): byte for byte in seen}, **{chr(256 + i): byte for i, byte in enumerate(others)}}


_ALPHABET = _alphabet()


def kinds_of(decoder: Any) -> frozenset[str]:
    """Types of the steps of a tokenizers.decoders.Decoder."""
    if decoder is None:
        return frozenset()
    state = json.loads(decoder.__getstate__())
    return frozenset(step.get("type", "") for step in (state, *state.get("decoders", ())))


def bytes_of(token: str, kinds: frozenset[str]) -> Optional[bytes]:
    """As the vocabulary has it; None: its tokens are no bytes."""
    if "ByteLevel" in kinds and all(each in _ALPHABET for each in token):
        return bytes(_ALPHABET[each] for each in token)
    found = _FALLBACK.fullmatch(token) if "ByteFallback" in kinds else None
    return bytes.fromhex(found[1]) if found else None
