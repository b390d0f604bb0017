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

__all__ = ["Collective", "Device", "Instruction", "Launches", "RankMemory", "RankNeeds", "Statistics", "devices"]


@dataclass(frozen=True)
class Device:
    """Something to run on."""

    backend: str
    """"host", "cuda"."""
    number: int
    """From 0; -1: the backend has none here."""
    name: str
    """As its maker calls it."""
    architecture: str
    """What code is for: "avx2", "sm_90"."""
    memory_bytes: int
    """In all."""
    free_bytes: int
    """That nobody had taken when it was opened; 0: it was not."""
    refusal: str
    """Why it cannot be used, or empty."""


@dataclass(frozen=True)
class Launches:
    """How often ranks have run a program, of all runs."""

    launched: int
    """Launch after launch."""
    captured: int
    """As a device had just captured it."""
    updated: int
    """As it had captured it, with some launches set anew."""
    replayed: int
    """As it had captured it."""


@dataclass(frozen=True)
class RankMemory:
    """Bytes of a rank."""

    rank: int
    """Its number in the world."""
    weight_bytes: int
    """Its parts of weights."""
    packed_bytes: int
    """Of these, what was copied into memory of its own."""
    loaded_bytes: int
    """What loading has computed of weights."""
    arena_bytes: int
    """Intermediate values, scratch and packed inputs."""
    value_bytes: int
    """Of these, the values of the last run."""
    arranged_bytes: int
    """Copies of weights as kernels read them, which ranks of a process share."""


@dataclass(frozen=True)
class Collective:
    """One of the last run, as a group of ranks saw it."""

    kind: str
    """"all_reduce", "all_gather", ..."""
    node: str
    """Of the ONNX model."""
    group_size: int
    """Ranks that meet."""
    bytes: int
    """Of its whole value."""
    wire_bytes: int
    """That its ranks sent, together."""


@dataclass(frozen=True)
class Instruction:
    """Of a session that measures, over all runs of the last sizes."""

    kernel: str
    """That it calls: "MatMul", "all_reduce"."""
    node: str
    """Of the ONNX model."""
    is_collective: bool
    """Waits for other ranks are in its time."""
    runs: int
    """That were measured."""
    has_first: bool
    """The first run, which waits for weights, is among them, since there is no other."""
    milliseconds: float
    """The mean over ranks of the sum over runs."""
    bytes: int
    """Of the operands of one rank, in one run."""
    multiply_adds: int
    """Likewise, of a product; else 0."""


@dataclass(frozen=True)
class RankNeeds:
    """Bytes that a rank needs of its device, of the host without what is mapped."""

    rank: str
    """"rank 5 (pp 1, tp 1)"."""
    device: str
    """"device 0 (NVIDIA H200, sm_90)"."""
    weight_bytes: int
    """Of its weights, and of what is computed of them."""
    value_bytes: int
    """Of values of the smallest request, without scratch."""
    cache_bytes: int
    """Of KV caches of the positions that were asked for (cache_positions)."""
    cache_position_bytes: int
    """Of all its KV caches, for one position of a text."""
    free_bytes: int
    """That the device has, for all ranks on it."""
    is_host: bool
    """The device is the host."""


@dataclass(frozen=True)
class Statistics:
    """Of the ranks of this process, as it was then (Session.statistics)."""

    launches: Launches
    """How often ranks have run their programs, and how."""
    ranks: tuple[RankMemory, ...]
    """What each has of memory."""
    collectives: tuple[Collective, ...]
    """Of the last run."""
    instructions: tuple[Instruction, ...]
    """Times, of a session that measures."""
    needs: tuple[RankNeeds, ...]
    """What each needs of its device."""
    placement: tuple[str, ...]
    """Lines for a reader: where each rank is, and for how many positions there is room."""
    host_kernels: tuple[str, ...]
    """Kernels that a device lacks, so that values go to the host."""
    host_instructions: tuple[str, ...]
    """Instructions that are run there for it."""


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
