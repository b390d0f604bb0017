"""Inputs as the C API takes them, and outputs as NumPy arrays, without copies."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _checks, _dlpack
from ._library import TensorOfC, library
from ._types import NAMES, NUMBERS, dtype_of
from .errors import InvalidArgument, check

if TYPE_CHECKING:
    from .bindings import Views
    from .session import ValueInfo

Array = np.ndarray[Any, Any]


name_of = functools.lru_cache(maxsize=64)(lambda dtype: str(dtype.name))  # NumPy puts it together each time


def least_request(infos: Sequence[ValueInfo], names: Optional[Sequence[str]] = None) -> dict[str, Array]:
    """Ones for inputs, or for those of these names, with one element where a size is open: what finds out whether ranks answer."""
    return {info.name: np.ones([int(dim) if dim.isdigit() else 1 for dim in info.dims], dtype_of(info.dtype, info.name))
            for info in infos if not info.is_cache and (names is None or info.name in names)}  # fmt: skip


def _operand(name: str, value: Any, infos: Mapping[str, ValueInfo]) -> tuple[Array, str, Any]:
    """Elements, their type, and what holds them. Numbers and lists become what the input is."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return array, name_of(array.dtype), value
    if hasattr(value, "__dlpack__"):
        return _dlpack.view(value, f"input '{name}'")
    info = infos.get(name)
    array = _listed(name, value, info) if info else np.asarray(value)
    return array, name_of(array.dtype), None


def _check_type(name: str, value: Any, array: Array, type_name: str, infos: Mapping[str, ValueInfo]) -> None:
    """Nothing is converted: how to is said as whoever has the array would."""
    info = infos.get(name)
    if info is None or type_name == info.dtype:
        return
    module = "np" if hasattr(np, info.dtype) or info.dtype == "bool" else "ml_dtypes"
    how = f"convert it by .astype({module}.{info.dtype})" if isinstance(value, (np.ndarray, np.generic)) else f"convert it to {info.dtype}"
    shape = ", ".join(map(str, array.shape))
    raise InvalidArgument(f"input '{name}': expected {info.dtype} [{', '.join(info.dims)}], found {type_name} [{shape}]: {how}")


def _listed(name: str, value: Any, info: ValueInfo) -> Array:
    """Numbers, as the input is, where it has them all: integers may become floats, and 16-bit floats of them; no float becomes
    an integer, and no integer another one."""
    wanted = dtype_of(info.dtype, f"input '{name}'")
    try:
        found = np.asarray(value)  # objects, by NumPy before 1.24, where lists have different lengths
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidArgument(f"input '{name}': expected {info.dtype} [{', '.join(info.dims)}], found lists that are no array: {error}") from None
    if found.size == 0:
        return found.astype(wanted)
    is_known, is_exact = found.dtype.kind in "biuf", wanted.kind not in "biu" or found.dtype.kind in "biu"
    if is_known and is_exact:
        with np.errstate(all="ignore"):
            array = found.astype(wanted, copy=False)
        if np.array_equal(array, found) if wanted.kind in "biu" else wanted.kind != "f" or _are_finite(array, found):
            return array
        found_type = f"{found.min()} to {found.max()}"
    else:
        found_type = name_of(found.dtype) if is_known else _checks.shown(found.reshape(-1).tolist()[0])
    raise InvalidArgument(f"input '{name}': expected {info.dtype} [{', '.join(info.dims)}], found {found_type}")


def _are_finite(array: Array, found: Array) -> bool:
    """As far as they were."""
    return bool((np.isfinite(array) | ~np.isfinite(found)).all())


class Inputs:
    """Of one run: the structs of C, and what they point into."""

    def __init__(self, inputs: Mapping[str, Any], infos: Mapping[str, ValueInfo]) -> None:
        self.tensors = (TensorOfC * len(inputs))()
        self._held: list[Any] = []
        for tensor, (name, value) in zip(self.tensors, inputs.items()):
            array, type_name, holder = _operand(name, value, infos)
            number = NUMBERS.get(type_name)
            if number is None:
                raise TypeError(f"input '{name}' has type {type_name}, expected one of {', '.join(NAMES)}")
            if not array.dtype.isnative:
                raise TypeError(f"input '{name}' has the other byte order: convert it by .astype(...)")
            _check_type(name, value, array, type_name, infos)
            dense = np.ascontiguousarray(array).reshape(array.shape)  # a copy where strides say so
            dims = (ctypes.c_int64 * dense.ndim)(*dense.shape)
            self._held += [dense, holder, dims]
            tensor.name, tensor.type, tensor.rank = name.encode(), number, dense.ndim
            tensor.dims, tensor.data = dims, dense.ctypes.data


class Results:
    """Memory for outputs: of each run its own, used again when nobody has an array in it any more."""

    MOST = 2  # that lie idle

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[int] = []
        self._closed = False

    def take(self, session: int) -> Result:
        with self._lock:
            if self._idle:
                return Result(self._idle.pop(), self)
        made = ctypes.c_void_p()
        check(library().shardrt_result_create(session, ctypes.byref(made)))
        assert made.value is not None
        return Result(made.value, self)

    def give_back(self, handle: int) -> None:
        # Called by __del__, that is anywhere, also where this thread has the lock.
        if self._lock.acquire(blocking=False):
            try:
                if not self._closed and len(self._idle) < self.MOST:
                    self._idle.append(handle)
                    return
            finally:
                self._lock.release()
        library().shardrt_result_destroy(handle)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for handle in idle:
            library().shardrt_result_destroy(handle)


class Result:
    """Owns the outputs of one run, for the arrays that look into it."""

    def __init__(self, handle: int, home: Results) -> None:
        self.handle, self._home = handle, home

    def __del__(self) -> None:
        self._home.give_back(self.handle)

    def arrays(self, outputs: Sequence[ValueInfo], kept: bool, out: Optional[Views] = None) -> dict[str, Any]:
        """By name, without those that a state keeps; those that were bound as the caller has them."""
        return _arrays(library().shardrt_result_output, self.handle, outputs, kept, out.arrays if out else {}, owner=self)


def _arrays(
    get: Any, handle: int, outputs: Sequence[ValueInfo], kept: bool, bound: Mapping[str, Any], owner: Any
) -> dict[str, Any]:
    """What `get` gives by number; memory belongs to the owner."""
    arrays: dict[str, Any] = {}
    tensor = TensorOfC()
    for index, info in enumerate(outputs):
        if kept and info.is_cache:
            continue
        if info.name in bound:
            arrays[info.name] = bound[info.name]
            continue
        check(get(handle, index, ctypes.byref(tensor)))
        shape = tuple(tensor.dims[i] for i in range(tensor.rank))
        dtype = dtype_of(NAMES[tensor.type], f"output '{info.name}'")
        if 0 in shape:
            arrays[info.name] = np.empty(shape, dtype)
            continue
        count = int(np.prod(shape, dtype=np.int64))
        memory = (ctypes.c_ubyte * (count * dtype.itemsize)).from_address(tensor.data)
        memory.owner = owner  # type: ignore[attr-defined]  # an array keeps its memory, and so this
        arrays[info.name] = np.frombuffer(memoryview(memory), dtype).reshape(shape)
    return arrays
