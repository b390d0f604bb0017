"""Philox 4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011)."""

from __future__ import annotations

from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint64]]
Ids = np.ndarray[Any, np.dtype[np.int64]]
Numbers = np.ndarray[Any, np.dtype[np.float64]]

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def philox(counters: Words, key: int) -> Words:
    """Four words of 32 bits for each counter of four such words: [4, n] to [4, n], as uint64. `key` has 64 bits."""
    a, b, c, d = (np.asarray(word, np.uint64) & _LOW for word in counters)
    low, high = key & 0xFFFFFFFF, (key >> 32) & 0xFFFFFFFF
    for _ in range(10):
        first, second = a * np.uint64(_MULTIPLIERS[0]), c * np.uint64(_MULTIPLIERS[1])
        a, b = (second >> _SHIFT) ^ b ^ np.uint64(low), second & _LOW
        c, d = (first >> _SHIFT) ^ d ^ np.uint64(high), first & _LOW
        low, high = (low + _WEYL[0]) & 0xFFFFFFFF, (high + _WEYL[1]) & 0xFFFFFFFF
    return np.stack([a, b, c, d])


def uniforms(key: int, position: int, stream: int, ids: Ids) -> Numbers:
    """A number in (0, 1) for each id, of 52 bits: a function of key, position, stream and id alone."""
    pairs, lanes = np.divmod(np.asarray(ids, np.uint64), np.uint64(2))
    counters = np.stack([pairs, np.full_like(pairs, position & 0xFFFFFFFF), np.full_like(pairs, position >> 32),
                         np.full_like(pairs, stream)])  # fmt: skip
    words = philox(counters, key)
    odd = lanes.astype(bool)
    high, low = np.where(odd, words[2], words[0]), np.where(odd, words[3], words[1])
    bits = (high << np.uint64(20)) | (low >> np.uint64(12))  # 52: with the half below they are exact
    found: Numbers = (bits.astype(np.float64) + 0.5) / 2.0**52
    return found
