"""Arrays of others by DLPack, without a copy, also of types that NumPy has not."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_HOST = (1, 3)  # memory of the host, and that which CUDA has pinned
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


def view(array: Any, what: str) -> tuple[np.ndarray[Any, Any], str, Any]:
    """Of what is given as `what`: a view of an array's elements, the name of their type, and what has to live as long as the view.

    The capsule stays unconsumed: its own destructor gives the memory back when it goes.
    """
    capsule = array.__dlpack__()
    address = _get_pointer(capsule, b"dltensor")
    assert address is not None
    tensor = _DLTensor.from_address(address)
    if tensor.device_type not in _HOST:
        raise TypeError(f"{what} is on device ({tensor.device_type}, {tensor.device_id}), expected memory of the "
                        "host: copy it there")  # fmt: skip
    known = _DTYPES.get((tensor.code, tensor.bits)) if tensor.lanes == 1 else None
    if known is None:
        raise TypeError(f"{what} has DLPack type ({tensor.code}, {tensor.bits}, {tensor.lanes}), which no input or output has")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    itemsize = tensor.bits // 8
    if 0 in shape:
        return np.empty(shape, known[1]), known[0], None
    steps = tuple(tensor.strides[i] * itemsize for i in range(tensor.ndim)) if tensor.strides else None
    first = (tensor.data or 0) + tensor.byte_offset
    low, high = 0, itemsize
    if steps is None:
        high = int(np.prod(shape, dtype=np.int64)) * itemsize
    else:
        for size, step in zip(shape, steps):
            low, high = low + min(0, (size - 1) * step), high + max(0, (size - 1) * step)
    memory = (ctypes.c_ubyte * (high - low)).from_address(first + low)
    elements: np.ndarray[Any, Any] = np.ndarray(shape, known[1], memory, offset=-low, strides=steps)
    return elements, known[0], capsule
