"""libshardrt.so and the types of its C API (shardrt.h), by ctypes: every call releases the GIL."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any, Optional

SONAME = "libshardrt.so.0"


ON_PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
ON_END = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)


class OnEndOfC(ctypes.Structure):
    _fields_ = [("call", ON_END), ("context", ctypes.c_void_p)]


class TensorOfC(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
    ]


class OptionsOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("weights_root", ctypes.c_char_p),
        ("timeout_seconds", ctypes.c_double),
        ("check_replicas", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("no_kernels", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("device", ctypes.c_char_p),
        ("loads_beside", ctypes.c_int32),
        ("unused_too", ctypes.c_int32),
        ("processes", ctypes.c_void_p),
        ("on_progress", ON_PROGRESS),
        ("progress_context", ctypes.c_void_p),
        ("preflight", ctypes.c_int32),
        ("measure", ctypes.c_int32),
        ("no_graphs", ctypes.c_int32),
        ("unused_again", ctypes.c_int32),
        ("cache_positions", ctypes.c_int64),
    ]


class ViewOfC(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
    ]


class ErrorInfoOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("code", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("stage", ctypes.c_int32),
        ("instruction", ctypes.c_int32),
        ("kernel", ctypes.c_char_p),
        ("node", ctypes.c_char_p),
        ("message", ctypes.c_char_p),
    ]


class JoinOptionsOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("timeout_seconds", ctypes.c_double),
        ("rendezvous", ctypes.c_char_p),
        ("rank", ctypes.c_int32),
        ("num_ranks", ctypes.c_int32),
        ("job", ctypes.c_char_p),
    ]


class RunOptionsOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("deadline_ms", ctypes.c_int64),
        ("cancellation", ctypes.c_void_p),
    ]


class ValueInfoOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_char_p)),
        ("is_cache", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("num_rows", ctypes.c_int64),
    ]


class SessionInfoOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("world_size", ctypes.c_int32),
        ("num_stages", ctypes.c_int32),
        ("num_replicas", ctypes.c_int32),
        ("is_causal", ctypes.c_int32),
        ("page", ctypes.c_int64),
        ("tolerance", ctypes.c_char_p),
        ("has_independent_rows", ctypes.c_int32),
        ("unused", ctypes.c_int32),
    ]


class RowOfC(ctypes.Structure):
    _fields_ = [
        ("sequence", ctypes.c_void_p),
        ("inputs", ctypes.POINTER(TensorOfC)),
        ("num_inputs", ctypes.c_size_t),
        ("wanted", ctypes.c_int32),
    ]


class BatchRequestOfC(ctypes.Structure):
    _fields_ = [("inputs", ctypes.POINTER(TensorOfC)), ("num_inputs", ctypes.c_size_t), ("result", ctypes.c_void_p)]


class BatchStepOfC(ctypes.Structure):
    _fields_ = [("rows", ctypes.POINTER(RowOfC)), ("num_rows", ctypes.c_size_t), ("result", ctypes.c_void_p)]


REOPEN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
CHOOSE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_float), ctypes.c_size_t, ctypes.c_void_p)
ON_TOKEN = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)


class ServerOptionsOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("positions", ctypes.c_int64),
        ("step_tokens", ctypes.c_int64),
        ("step_rows", ctypes.c_int64),
        ("most_waiting", ctypes.c_int64),
        ("slowdown", ctypes.c_double),
        ("logits", ctypes.c_char_p),
        ("reopen", REOPEN),
        ("context", ctypes.c_void_p),
    ]


class TextRequestOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("prompt", ctypes.POINTER(ctypes.c_int64)),
        ("num_prompt", ctypes.c_size_t),
        ("max_tokens", ctypes.c_int64),
        ("choose", CHOOSE),
        ("on_token", ON_TOKEN),
        ("on_end", ON_END),
        ("context", ctypes.c_void_p),
        ("deadline_ms", ctypes.c_int64),
        ("inputs", ctypes.POINTER(TensorOfC)),
        ("num_inputs", ctypes.c_size_t),
    ]


class SpentOfC(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("kind", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("seconds", ctypes.c_double),
        ("count", ctypes.c_int64),
        ("adders", ctypes.c_int32),
        ("unused", ctypes.c_int32),
    ]


def _info(kind: str, /, **fields: Any) -> type[ctypes.Structure]:
    return type(kind, (ctypes.Structure,), {"_fields_": [("size", ctypes.c_size_t), *fields.items()]})


_TEXT, _INT, _LONG, _DOUBLE = ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_double
DeviceInfoOfC = _info("DeviceInfoOfC", backend=_TEXT, number=_INT, unused=_INT, name=_TEXT, architecture=_TEXT,
                      memory_bytes=_LONG, free_bytes=_LONG, refusal=_TEXT)  # fmt: skip
LaunchesOfC = _info("LaunchesOfC", launched=_LONG, captured=_LONG, updated=_LONG, replayed=_LONG)
RankMemoryOfC = _info("RankMemoryOfC", rank=_INT, unused=_INT, weight_bytes=_LONG, packed_bytes=_LONG, loaded_bytes=_LONG,
                      arena_bytes=_LONG, value_bytes=_LONG, arranged_bytes=_LONG)  # fmt: skip
CollectiveOfC = _info("CollectiveOfC", kind=_TEXT, node=_TEXT, group_size=_INT, unused=_INT, bytes=_LONG, wire_bytes=_LONG)
InstructionOfC = _info("InstructionOfC", kernel=_TEXT, node=_TEXT, is_collective=_INT, runs=_INT, has_first=_INT, unused=_INT,
                       milliseconds=_DOUBLE, bytes=_LONG, multiply_adds=_LONG)  # fmt: skip
RankNeedsOfC = _info("RankNeedsOfC", rank=_TEXT, device=_TEXT, weight_bytes=_LONG, value_bytes=_LONG, cache_bytes=_LONG,
                     cache_position_bytes=_LONG, free_bytes=_LONG, is_host=_INT, unused=_INT)  # fmt: skip

COUNTS = ("waiting", "running", "pages", "free_pages", "steps", "tokens", "made", "shared", "evicted", "recovered")


class CountsOfC(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), *((name, ctypes.c_int64) for name in COUNTS)]


_P, _I, _N, _L = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.c_int64
_TO = ctypes.POINTER(ctypes.c_void_p)
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "version": (ctypes.c_char_p, []),
    "last_error": (ctypes.c_char_p, []),
    "last_error_info": (_I, [ctypes.POINTER(ErrorInfoOfC)]),
    "open": (_I, [ctypes.c_char_p, ctypes.POINTER(OptionsOfC), _TO]),
    "close": (None, [_P]),
    "is_lost": (_I, [_P]),
    "reopen": (_I, [_P]),
    "reopen_with": (_I, [_P, _P]),
    "join": (_I, [ctypes.POINTER(JoinOptionsOfC), _TO]),
    "rank": (ctypes.c_int32, [_P]),
    "num_ranks": (ctypes.c_int32, [_P]),
    "is_speaker": (_I, [_P]),
    "follow": (_I, [_P]),
    "conclude": (_I, [_P, _I, ctypes.c_char_p]),
    "leave": (None, [_P]),
    "num_inputs": (_N, [_P]),
    "num_outputs": (_N, [_P]),
    "input_info": (_I, [_P, _N, ctypes.POINTER(ValueInfoOfC)]),
    "output_info": (_I, [_P, _N, ctypes.POINTER(ValueInfoOfC)]),
    "info": (_I, [_P, ctypes.POINTER(SessionInfoOfC)]),
    "num_spent": (_N, [_P]),
    "spent_at": (_I, [_P, _N, ctypes.POINTER(SpentOfC)]),
    "devices_create": (_I, [_TO]),
    "devices_destroy": (None, [_P]),
    "num_devices": (_N, [_P]),
    "device_at": (_I, [_P, _N, ctypes.POINTER(DeviceInfoOfC)]),
    "statistics_create": (_I, [_P, _TO]),
    "statistics_destroy": (None, [_P]),
    "statistics_launches": (_I, [_P, ctypes.POINTER(LaunchesOfC)]),
    "statistics_num_ranks": (_N, [_P]),
    "statistics_rank": (_I, [_P, _N, ctypes.POINTER(RankMemoryOfC)]),
    "statistics_num_collectives": (_N, [_P]),
    "statistics_collective": (_I, [_P, _N, ctypes.POINTER(CollectiveOfC)]),
    "statistics_num_instructions": (_N, [_P]),
    "statistics_instruction": (_I, [_P, _N, ctypes.POINTER(InstructionOfC)]),
    "statistics_num_needs": (_N, [_P]),
    "statistics_needs": (_I, [_P, _N, ctypes.POINTER(RankNeedsOfC)]),
    "statistics_num_notes": (_N, [_P, _I]),
    "statistics_note": (ctypes.c_char_p, [_P, _I, _N]),
    "write_trace": (_I, [_P, ctypes.c_char_p]),
    "result_create": (_I, [_P, _TO]),
    "result_destroy": (None, [_P]),
    "result_output": (_I, [_P, _N, ctypes.POINTER(TensorOfC)]),
    "result_bind": (_I, [_P, ctypes.POINTER(ViewOfC)]),
    "result_bind_input": (_I, [_P, ctypes.POINTER(ViewOfC)]),
    "result_unbind": (_I, [_P]),
    "submit": (_I, [_P, _P, ctypes.POINTER(RunOptionsOfC), ctypes.POINTER(TensorOfC), _N, _P, OnEndOfC, _TO]),
    "request_cancel": (None, [_P]),
    "request_wait": (_I, [_P]),
    "request_destroy": (None, [_P]),
    "run_into": (_I, [_P, _P, ctypes.POINTER(RunOptionsOfC), ctypes.POINTER(TensorOfC), _N, _P]),
    "run_batch": (_I, [_P, ctypes.POINTER(RunOptionsOfC), ctypes.POINTER(BatchRequestOfC), _N]),
    "state_create": (_I, [_P, _L, _TO]),
    "state_create_on": (_I, [_P, _L, _I, _TO]),
    "state_fork": (_I, [_P, _TO]),
    "state_reset": (None, [_P]),
    "state_destroy": (None, [_P]),
    "state_length": (_L, [_P]),
    "state_capacity": (_L, [_P]),
    "state_num_ranks": (_N, [_P]),
    "state_memory": (_I, [_P, _N, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(_L), ctypes.POINTER(_L)]),
    "cancellation_create": (_I, [_TO]),
    "cancellation_destroy": (None, [_P]),
    "cancel": (None, [_P]),
    "pool_create": (_I, [_P, _L, _TO]),
    "pool_create_on": (_I, [_P, _L, ctypes.c_int32, _TO]),
    "pool_destroy": (None, [_P]),
    "pool_page": (_L, [_P]),
    "pool_pages": (_L, [_P]),
    "pool_free_pages": (_L, [_P]),
    "pool_is_lost": (_I, [_P]),
    "pool_renew": (_I, [_P]),
    "sequence_create": (_I, [_P, _TO]),
    "sequence_fork": (_I, [_P, _TO]),
    "sequence_truncate": (_I, [_P, _L]),
    "sequence_length": (_L, [_P]),
    "sequence_destroy": (None, [_P]),
    "server_create": (_I, [_P, ctypes.POINTER(ServerOptionsOfC), _TO]),
    "server_destroy": (None, [_P]),
    "server_submit": (_I, [_P, ctypes.POINTER(TextRequestOfC), _TO]),
    "server_counts": (_I, [_P, ctypes.POINTER(CountsOfC)]),
    "text_cancel": (None, [_P]),
    "text_destroy": (None, [_P]),
    "step_into_with": (_I, [_P, ctypes.POINTER(RunOptionsOfC), ctypes.POINTER(RowOfC), _N, _P]),
    "step_batch": (_I, [_P, ctypes.POINTER(RunOptionsOfC), ctypes.POINTER(BatchStepOfC), _N]),
}

_loaded: Optional[ctypes.CDLL] = None


def library() -> ctypes.CDLL:
    """The library, loaded at first use: SHARDC_LIBRARY, the one of this package, or where the system finds it."""
    global _loaded
    if _loaded is None:
        beside = Path(__file__).parent / "lib" / SONAME
        path = os.environ.get("SHARDC_LIBRARY") or (str(beside) if beside.exists() else SONAME)
        try:
            found = ctypes.CDLL(path)
        except OSError as error:
            raise ImportError(f"{error}; install the wheel of shardrt, or name the library in SHARDC_LIBRARY") from None
        for name, (result, arguments) in _FUNCTIONS.items():
            try:
                function = getattr(found, f"shardrt_{name}")
            except AttributeError:
                raise ImportError(f"{path}: is older than this package: it has no shardrt_{name}") from None
            function.restype, function.argtypes = result, arguments
        _loaded = found
    return _loaded
