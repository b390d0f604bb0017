"""Which degrees suit a model on a machine, as `shardc plan` predicts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass(frozen=True)
class Candidate:
    """One parallelism, predicted."""

    flags: str
    """To compile it with: "--tp 8 --pp 2"."""
    mesh: Mapping[str, int]
    """Ways by axis, {"pp": 2, "tp": 8}."""
    sp: bool
    """Norms and residuals are split over the sequence (--sp)."""
    micro_batches: int
    """Parts of a batch that follow each other through the stages."""
    fits: bool
    """The fullest rank has room on its device."""
    memory: Mapping[str, int]
    """Bytes of the fullest rank: "weights", "kv", "activations", "buffers", "total", and "limit" of the device."""
    prefill: Optional[float]
    """Seconds of a prompt; None where the requests have none."""
    decode: Optional[float]
    """Seconds of a step, likewise."""
    tokens_per_second: Optional[float]
    """Of all devices together."""
    reason: str
    """Why it is where it is in the order."""
    json: Mapping[str, Any] = field(repr=False)
    """All that `shardc plan --json` says of it."""

    @property
    def devices(self) -> int:
        """That it takes: the product of its mesh."""
        product = 1
        for size in self.mesh.values():
            product *= size
        return product


@dataclass(frozen=True)
class Candidates:
    """All that a machine has devices for, best first; `str()` is the table that the program prints."""

    candidates: tuple[Candidate, ...]
    """Those that fit before those that do not; iteration, len() and [] are over them."""
    table: str = field(repr=False)
    """What the program prints."""
    json: Mapping[str, Any] = field(repr=False)
    """All that `shardc plan --json` says."""

    @property
    def best(self) -> Optional[Candidate]:
        """The first one that fits; None where nothing does."""
        return next((each for each in self.candidates if each.fits), None)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def __getitem__(self, index: int) -> Candidate:
        return self.candidates[index]

    def __str__(self) -> str:
        return self.table


def read_candidates(said: Mapping[str, Any], table: str) -> Candidates:
    """Of what --json has written."""
    found = []
    for each in said["candidates"]:
        seconds = each["seconds"]
        found.append(
            Candidate(
                each["flags"], each["mesh"], each["sp"], each["micro_batches"], each["fits"], each["memory"],
                seconds["prefill"], seconds["decode"], each["tokens_per_second"], each["reason"], each,
            )  # fmt: skip
        )
    return Candidates(tuple(found), table, said)
