"""Which degrees suit a model on a machine, as `shardc plan` predicts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Optional


@dataclass(frozen=True)
class Candidate:
    """One parallelism, predicted.

    flags: to compile it with.
    memory: bytes of the fullest rank: "weights", "kv", "activations", "buffers", "total", and "limit" of the device.
    prefill, decode: seconds of a prompt and of a step; None where the requests have none.
    tokens_per_second: of all devices together.
    reason: why it is where it is in the order.
    """

    flags: str
    mesh: Mapping[str, int]
    sp: bool
    micro_batches: int
    fits: bool
    memory: Mapping[str, int]
    prefill: Optional[float]
    decode: Optional[float]
    tokens_per_second: Optional[float]
    reason: str
    json: Mapping[str, Any] = field(repr=False)

    @property
    def devices(self) -> int:
        product = 1
        for size in self.mesh.values():
            product *= size
        return product


@dataclass(frozen=True)
class Candidates:
    """All that a machine has devices for, best first; `str()` is the table that the program prints."""

    candidates: tuple[Candidate, ...]
    table: str = field(repr=False)
    json: Mapping[str, Any] = field(repr=False)

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
