"""What there is to run on, and what ranks have and did."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from ._library import (
    CollectiveOfC,
    DeviceInfoOfC,
    InstructionOfC,
    LaunchesOfC,
    RankMemoryOfC,
    RankNeedsOfC,
    library,
)
from .errors import check


@dataclass(frozen=True)
class Device:
    """`refusal` says why it cannot be used, or is empty. Number -1: the backend has none here."""

    backend: str
    number: int
    name: str
    architecture: str
    memory_bytes: int
    free_bytes: int
    refusal: str


@dataclass(frozen=True)
class Launches:
    """How often ranks have run a program, of all runs: launch after launch, as a device had just captured it, with some
    launches set anew, or as it had captured it."""

    launched: int
    captured: int
    updated: int
    replayed: int


@dataclass(frozen=True)
class RankMemory:
    """Bytes of a rank: its parts of weights, of these packed ones, what loading has computed, intermediate values with scratch,
    of these values alone, and copies of weights as kernels read them."""

    rank: int
    weight_bytes: int
    packed_bytes: int
    loaded_bytes: int
    arena_bytes: int
    value_bytes: int
    arranged_bytes: int


@dataclass(frozen=True)
class Collective:
    """One of the last run, as a group of ranks saw it: bytes of its whole value, and those that its ranks sent."""

    kind: str
    node: str
    group_size: int
    bytes: int
    wire_bytes: int


@dataclass(frozen=True)
class Instruction:
    """Of a session that measures, over all runs of the last sizes: milliseconds are the mean over ranks of the sum over runs,
    bytes and multiply_adds those of one rank in one run. has_first: the first run, which waits for weights, is among them."""

    kernel: str
    node: str
    is_collective: bool
    runs: int
    has_first: bool
    milliseconds: float
    bytes: int
    multiply_adds: int


@dataclass(frozen=True)
class RankNeeds:
    """Bytes that a rank needs of its device: weights, values of the smallest request, caches of the positions that were asked
    for, and of one more position at batch 1."""

    rank: str
    device: str
    weight_bytes: int
    value_bytes: int
    cache_bytes: int
    cache_position_bytes: int
    free_bytes: int
    is_host: bool


@dataclass(frozen=True)
class Statistics:
    """Of the ranks of this process, as it was then. `placement` are lines for a reader: where each rank is, and for how many
    positions there is room. `host_kernels` and `host_instructions`: what a device lacks, so that values go to the host."""

    launches: Launches
    ranks: tuple[RankMemory, ...]
    collectives: tuple[Collective, ...]
    instructions: tuple[Instruction, ...]
    needs: tuple[RankNeeds, ...]
    placement: tuple[str, ...]
    host_kernels: tuple[str, ...]
    host_instructions: tuple[str, ...]


def _made(kind: Any, of_c: Any) -> Any:
    """As Python has it; fields have the names that C gives them."""
    fields = {}
    for name, annotation in kind.__annotations__.items():
        value = getattr(of_c, name)
        fields[name] = value.decode() if isinstance(value, bytes) else bool(value) if annotation == "bool" else value
    return kind(**fields)


def _one(kind: Any, struct: Any, get: Any, *arguments: Any) -> Any:
    info = struct(size=ctypes.sizeof(struct))
    check(get(*arguments, ctypes.byref(info)))
    return _made(kind, info)


def _all(kind: Any, struct: Any, count: Any, get: Any, handle: int) -> tuple[Any, ...]:
    return tuple(_one(kind, struct, get, handle, index) for index in range(count(handle)))


def devices() -> tuple[Device, ...]:
    """Devices of this machine, of all backends that are found; those that cannot be used say why."""
    c, made = library(), ctypes.c_void_p()
    check(c.shardrt_devices_create(ctypes.byref(made)))
    assert made.value is not None
    try:
        return _all(Device, DeviceInfoOfC, c.shardrt_num_devices, c.shardrt_device_at, made.value)
    finally:
        c.shardrt_devices_destroy(made)


def statistics_of(session: int) -> Statistics:
    """Of an open session, by its handle."""
    c, made = library(), ctypes.c_void_p()
    check(c.shardrt_statistics_create(session, ctypes.byref(made)))
    assert made.value is not None
    of = made.value
    try:
        notes = [
            tuple(c.shardrt_statistics_note(of, kind, i).decode() for i in range(c.shardrt_statistics_num_notes(of, kind)))
            for kind in range(3)
        ]
        return Statistics(
            _one(Launches, LaunchesOfC, c.shardrt_statistics_launches, of),
            _all(RankMemory, RankMemoryOfC, c.shardrt_statistics_num_ranks, c.shardrt_statistics_rank, of),
            _all(Collective, CollectiveOfC, c.shardrt_statistics_num_collectives, c.shardrt_statistics_collective, of),
            _all(Instruction, InstructionOfC, c.shardrt_statistics_num_instructions, c.shardrt_statistics_instruction, of),
            _all(RankNeeds, RankNeedsOfC, c.shardrt_statistics_num_needs, c.shardrt_statistics_needs, of),
            *notes,
        )
    finally:
        c.shardrt_statistics_destroy(made)
