"""Tensors in requests, as KServe's protocol writes them in JSON."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Union

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from .._types import dtype_of
from .problems import invalid

TYPES = {"bool": "BOOL", "float16": "FP16", "float32": "FP32", "float64": "FP64", "bfloat16": "BF16",
          **{f"{sign}int{bits}": f"{sign.upper()}INT{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}}  # fmt: skip


_IGNORED = {"content_type", "headers", "priority"}
_PLAIN: dict[str, tuple[Any, ...]] = {"binary_data": (False,), "binary_data_output": (False,), "classification": (0,),
                                      "sequence_id": (0, ""), "sequence_start": (False,), "sequence_end": (False,)}  # fmt: skip
"""Parameters that may be there with these values alone."""


def _check(parameters: dict[str, Any]) -> dict[str, Any]:
    """Those that mean nothing here are left alone; those that would change the answer are an error."""
    for name, value in parameters.items():
        if name in _PLAIN and value not in _PLAIN[name]:
            raise ValueError(f"{name} is not supported")
        if name not in _IGNORED and name not in _PLAIN:
            raise ValueError(f"there is no parameter {name}")
    return parameters


Parameters = Annotated[dict[str, Any], AfterValidator(_check)]


class TensorAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    parameters: Parameters = Field(default_factory=dict)
    """Before the data, which a client that sends it in binary leaves out."""
    shape: list[int]
    datatype: str
    data: Union[list[Any], str]
    """Numbers, or base64 of them as they lie in memory, little-endian."""


def array_of(tensor: TensorAsked) -> Any:
    name = next((name for name, known in TYPES.items() if known == tensor.datatype), None)
    if name is None:
        raise invalid(f"input '{tensor.name}' has datatype '{tensor.datatype}', expected one of {', '.join(TYPES.values())}", "inputs")
    dtype = dtype_of(name, tensor.name)
    try:
        if isinstance(tensor.data, str):
            bits = base64.b64decode(tensor.data, validate=True)
            values = np.frombuffer(bits, np.uint8) != 0 if dtype == np.bool_ else np.frombuffer(bits, dtype)
            return values.reshape([_positive(size) for size in tensor.shape])
        listed = np.array(tensor.data, dtype=object).reshape(-1).tolist()
        return _numbers(listed, dtype).reshape([_positive(size) for size in tensor.shape])
    except (ValueError, TypeError, OverflowError, binascii.Error) as error:
        raise invalid(f"input '{tensor.name}', {tensor.datatype} {tensor.shape}: {error}", "inputs") from None


def _numbers(values: list[Any], dtype: np.dtype[Any]) -> Any:
    """Of the type that was asked for: NumPy would guess float64 for none, and for large ones."""
    kinds = set(map(type, values))
    if kinds - {bool, int, float}:
        raise ValueError("expected numbers")
    if dtype.kind not in "iu":
        with np.errstate(over="ignore"):
            floats = np.array(values, np.float64).astype(dtype)
        # JSON has no infinity: what is one was larger than the type has, or than a float64 (1e400).
        if not np.isfinite(floats.astype(np.float64)).all():
            raise ValueError(f"a number is out of the range of {dtype.name}")
        return floats
    if float in kinds:
        raise ValueError("expected integers")
    limits = np.iinfo(dtype)
    if values and (min(values) < limits.min or max(values) > limits.max):
        raise ValueError(f"a number is out of the range of {dtype.name}")
    return np.array(values, dtype)


def _positive(size: int) -> int:
    if size < 0:
        raise ValueError("a size is negative")
    return size
