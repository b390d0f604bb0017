"""Element types: their number in shardrt.h, their name, and NumPy's type where there is one."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

# In the order of shardrt_type. (4 and 2 bits are for weights: no input or output has them.)
NAMES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32",
    "float64", "int4", "uint4", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
    "int2", "uint2",
)  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(NAMES)}


def dtype_of(name: str, where: str) -> np.dtype[Any]:
    """NumPy's type; of those that NumPy has not (bfloat16, 8-bit floats), that of the package ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        found: np.dtype[Any] = np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
        return found
    except (ImportError, AttributeError):
        raise TypeError(f"{where} is {name}, which NumPy has not: pip install ml_dtypes") from None
