"""Arrays of the caller's that runs read and write where they are, also on GPUs."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _checks, _dlpack
from ._held import Uncopied
from ._library import ViewOfC, library
from ._tensors import name_of
from ._types import NAMES, NUMBERS
from .cancellation import Cancellation, run_options
from .errors import InvalidArgument, check
from .state import State

if TYPE_CHECKING:
    from ._tensors import Result
    from .session import Session


def _export(kind: str, name: str, value: Any) -> _dlpack.Exported:
    """What is bound of an array, and what holds it."""
    if not isinstance(value, np.ndarray):
        if not hasattr(value, "__dlpack__"):
            raise TypeError(f"{kind} '{name}' is a {type(value).__name__}, expected an array")
        return _dlpack.export(value, f"{kind} '{name}'")
    if kind == "output" and not value.flags.writeable:
        raise ValueError(f"output '{name}' is an array that is read only")
    type_name = name_of(value.dtype)
    if type_name not in NUMBERS:
        raise TypeError(f"{kind} '{name}' has type {type_name}, expected one of {', '.join(NAMES)}")
    if not value.dtype.isnative:
        raise TypeError(f"{kind} '{name}' has the other byte order: convert it by .astype(...)")
    if any(step % value.itemsize for step in value.strides):
        raise ValueError(f"{kind} '{name}' has strides {value.strides}, which are no multiples of its {value.itemsize} bytes "
                         "an element: copy it")  # fmt: skip
    strides = tuple(step // value.itemsize for step in value.strides)
    return _dlpack.Exported(type_name, type_name, value.shape, strides, value.ctypes.data, 0, (1, 0), value)


def _views_on_devices(inputs: Mapping[str, Any]) -> Optional[Views]:
    """Of the inputs that are in memory of a GPU, where runs read them; None: there are none."""
    there = {name: value for name, value in inputs.items() if _dlpack.is_on_device(value)}
    return Views("input", there) if there else None


class Views:
    """By name, as C binds them, and what they point into. `kind` is "input" or "output"."""

    def __init__(self, kind: str, arrays: Mapping[str, Any]) -> None:
        self.kind, self.arrays = kind, dict(arrays)
        self._views: list[ViewOfC] = []
        self._held: list[Any] = []
        for name, value in self.arrays.items():
            found = _export(kind, name, value)
            rank = len(found.shape)
            view = ViewOfC(name=name.encode(), type=NUMBERS[found.type_name], rank=rank, dims=(ctypes.c_int64 * rank)(*found.shape))
            if found.strides is not None:
                view.strides = (ctypes.c_int64 * rank)(*found.strides)
            view.data, view.byte_offset = found.data, found.byte_offset
            view.device_type, view.device_id = found.device
            self._views.append(view)
            self._held += [value, found.capsule]

    def bind(self, result: Result) -> None:
        c = library()
        call = c.shardrt_result_bind if self.kind == "output" else c.shardrt_result_bind_input
        for view in self._views:
            check(call(result.handle, ctypes.byref(view)))


class Binding(Uncopied):
    """Arrays that runs read and write where they are (Session.bind).

        ids, logits = np.zeros((1, 8), np.int64), np.zeros((1, 8, 1024), np.float32)
        binding = session.bind({"input_ids": ids}, {"logits": logits})
        ids[:] = ...
        binding.run()
    """

    _instead = "bind arrays again by Session.bind()"

    def __init__(self, session: Session, inputs: Views, out: Views) -> None:
        self._session, self._inputs, self._out = session, inputs, out
        with session._using() as handle, session._bound(handle, inputs, out):
            pass  # what is wrong with them is found at once

    def run(
        self,
        inputs: Optional[Mapping[str, Any]] = None,
        *,
        state: Optional[State] = None,
        deadline: Optional[float] = None,
        cancellation: Optional[Cancellation] = None,
    ) -> dict[str, Any]:
        """As Session.run; `inputs` are those that are not bound."""
        session, (given, there) = self._session, self._session._inputs_of(inputs or {})
        for name in there.arrays if there else ():
            if name in self._inputs.arrays:
                raise InvalidArgument(f"input '{name}' is given twice")
        _checks.given("state", state, State)
        options = run_options(deadline, cancellation)
        with session._using() as handle, state._using(session) if state is not None else contextlib.nullcontext() as kept:
            with session._bound(handle, self._inputs, there, self._out) as result:
                run_into = library().shardrt_run_into
                check(run_into(handle, kept, ctypes.byref(options), given.tensors, len(given.tensors), result.handle))
                return result.arrays(session.outputs, state is not None, self._out)

    def __repr__(self) -> str:
        return f"<shardrt.Binding, inputs {', '.join(self._inputs.arrays)}, outputs {', '.join(self._out.arrays)}>"
