"""How much one request may ask for, and how long it may take to ask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Limits:
    body: int = 4 << 20
    """Bytes of a request; more is 400."""
    body_seconds: float = 30.0
    """Within which all of it has come; else 408."""
    stalled_seconds: float = 60.0
    """A reader that takes nothing for so long is left, and its texts end."""
    requests: int = 1024
    """At once; more are 503."""
    texts: int = 128
    """Of one request: prompts times n."""
    stops: int = 16
    """Stop strings."""
    logprobs: int = 20
    """Likeliest tokens at each position."""
    retry_after: int = 1
    """Seconds, of a 429."""
    recovery_seconds: int = 5
    """Retry-After of a 503."""
    api_key: Optional[str] = None
    """What a request has to have as Authorization: Bearer; None: nothing."""
