"""Philox 4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011)."""

from __future__ import annotations

from typing import Any

import numpy as np

Words = np.ndarray[Any, np.dtype[np.uint64]]
Ids = np.ndarray[Any, np.dtype[np.int64]]
Numbers = np.ndarray[Any, np.dtype[np.float64]]

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)


def philox(counters: Words, key: int) -> Words:
    """Four words of 32 bits for each counter of four such words: [4, n] to [4, n], as uint64. `key` has 64 bits."""
    a, b, c, d = np.bitwise_and(counters, _LOW, dtype=np.uint64)
    keys = key & 0xFFFFFFFF, (key >> 32) & 0xFFFFFFFF
    for step in range(10):
        low, high = (np.uint64((word + step * weyl) & 0xFFFFFFFF) for word, weyl in zip(keys, _WEYL))
        # In place, for there may be as many as a vocabulary has words.
        a *= _MULTIPLIERS[0]
        c *= _MULTIPLIERS[1]
        b ^= low
        b ^= c >> _SHIFT
        d ^= high
        d ^= a >> _SHIFT
        a &= _LOW
        c &= _LOW
        a, b, c, d = b, c, d, a
    return np.stack([a, b, c, d])


def uniforms(key: int, position: int, stream: int, ids: Ids) -> Numbers:
    """A number in (0, 1) for each id of an ascending list, of 52 bits: a function of key, position, stream and id alone."""
    pairs = ids >> 1  # two ids have a counter together
    first = np.ones(ids.size, bool)
    first[1:] = pairs[1:] != pairs[:-1]
    counters = np.empty((4, int(first.sum())), np.uint64)
    counters[0] = pairs[first]
    counters[1:] = np.array([[position & 0xFFFFFFFF], [position >> 32], [stream]], np.uint64)
    words = philox(counters, key)
    bits = (words[0::2] << np.uint64(20)) | (words[1::2] >> np.uint64(12))  # 52: with the half below they are exact
    found: Numbers = (bits[ids & 1, np.cumsum(first) - 1].astype(np.float64) + 0.5) / 2.0**52
    return found
