"""Arrays of others by DLPack, without a copy, also of types that NumPy has not."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

_HOST = (1, 3)  # memory of the host, and that which CUDA has pinned
_CUDA = (2, 13)  # of a GPU, and that which moves between both
# Of CUDA the legacy default stream: runs wait for it, whatever streams their ranks have (shardrt.h).
_STREAM = 1
# (code, bits): the name here, and what NumPy holds it as.
_DTYPES = {
    **{(0, bits): (f"int{bits}", f"int{bits}") for bits in (8, 16, 32, 64)},
    **{(1, bits): (f"uint{bits}", f"uint{bits}") for bits in (8, 16, 32, 64)},
    **{(2, bits): (f"float{bits}", f"float{bits}") for bits in (16, 32, 64)},
    (4, 16): ("bfloat16", "uint16"),
    (6, 8): ("bool", "bool"),
    (10, 8): ("float8_e4m3fn", "uint8"),
    (11, 8): ("float8_e4m3fnuz", "uint8"),
    (12, 8): ("float8_e5m2", "uint8"),
    (13, 8): ("float8_e5m2fnuz", "uint8"),
    (14, 8): ("float8_e8m0fnu", "uint8"),
}


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def is_on_device(array: Any) -> bool:
    """Whether it says that it is in memory of a GPU."""
    if isinstance(array, np.ndarray):
        return False
    device = getattr(array, "__dlpack_device__", None)
    return device is not None and int(device()[0]) in _CUDA


@dataclass(frozen=True)
class Exported:
    """What an array says of itself. Strides count elements; `capsule` has to live as long as the memory is used: it stays
    unconsumed, and its own destructor gives the memory back when it goes."""

    type_name: str
    held_as: str  # by NumPy
    shape: tuple[int, ...]
    strides: Optional[tuple[int, ...]]
    data: int
    byte_offset: int
    device: tuple[int, int]
    capsule: Any


def export(array: Any, what: str) -> Exported:
    """Of what is given as `what`. What an array on a GPU waits for, the stream that runs wait for does, too."""
    capsule = array.__dlpack__(stream=_STREAM) if is_on_device(array) else array.__dlpack__()
    address = _get_pointer(capsule, b"dltensor")
    assert address is not None
    tensor = _DLTensor.from_address(address)
    known = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if known is None:
        raise TypeError(f"{what} has DLPack type ({tensor.code}, {tensor.bits}, {tensor.lanes}), which no input or output has")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else None
    device = (tensor.device_type, tensor.device_id)
    return Exported(*known, shape, strides, tensor.data or 0, tensor.byte_offset, device, capsule)


def view(array: Any, what: str) -> tuple[np.ndarray[Any, Any], str, Any]:
    """Of what is given as `what`, in the host's memory: a view of an array's elements, the name of their type, and what has to
    live as long as the view."""
    found = export(array, what)
    if found.device[0] not in _HOST:
        raise TypeError(f"{what} is on device {found.device}, expected memory of the host: copy it there")
    shape, itemsize = found.shape, np.dtype(found.held_as).itemsize
    if 0 in shape:
        return np.empty(shape, found.held_as), found.type_name, None
    steps = tuple(stride * itemsize for stride in found.strides) if found.strides is not None else None
    first = found.data + found.byte_offset
    low, high = 0, itemsize
    if steps is None:
        high = int(np.prod(shape, dtype=np.int64)) * itemsize
    else:
        for size, step in zip(shape, steps):
            low, high = low + min(0, (size - 1) * step), high + max(0, (size - 1) * step)
    memory: Any = (ctypes.c_ubyte * (high - low)).from_address(first + low)
    elements: np.ndarray[Any, Any] = np.ndarray(shape, found.held_as, memory, offset=-low, strides=steps)
    return elements, found.type_name, found.capsule
