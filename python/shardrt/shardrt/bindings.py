"""Arrays of the caller's that runs read and write where they are."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _dlpack
from ._library import ViewOfC, library
from ._tensors import Inputs, name_of
from ._types import NAMES, NUMBERS
from .errors import check

if TYPE_CHECKING:
    from ._tensors import Array, Result
    from .session import Cancellation, Session
    from .state import State


def _view(kind: str, name: str, value: Any) -> tuple[Array, str, Any]:
    """Elements, the name of their type, and what holds them."""
    if isinstance(value, np.ndarray):
        if kind == "output" and not value.flags.writeable:
            raise ValueError(f"output '{name}' is an array that is read only")
        return value, name_of(value.dtype), value
    if hasattr(value, "__dlpack__"):
        return _dlpack.view(value, f"{kind} '{name}'")
    raise TypeError(f"{kind} '{name}' is a {type(value).__name__}, expected an array")


class Views:
    """By name, as C binds them, and what they point into. `kind` is "input" or "output"."""

    def __init__(self, kind: str, arrays: Mapping[str, Any]) -> None:
        self.kind, self.arrays = kind, dict(arrays)
        self._views: list[ViewOfC] = []
        self._held: list[Any] = []
        for name, value in self.arrays.items():
            array, type_name, holder = _view(kind, name, value)
            if type_name not in NUMBERS:
                raise TypeError(f"{kind} '{name}' has type {type_name}, expected one of {', '.join(NAMES)}")
            if not array.dtype.isnative:
                raise TypeError(f"{kind} '{name}' has the other byte order: convert it by .astype(...)")
            if any(step % array.itemsize for step in array.strides):
                raise ValueError(f"{kind} '{name}' has strides {array.strides}, which are no multiples of its {array.itemsize} bytes "
                                 "an element: copy it")  # fmt: skip
            dims = (ctypes.c_int64 * array.ndim)(*array.shape)
            strides = (ctypes.c_int64 * array.ndim)(*(step // array.itemsize for step in array.strides))
            view = ViewOfC(name=name.encode(), type=NUMBERS[type_name], rank=array.ndim, dims=dims, strides=strides)
            view.data = array.ctypes.data
            self._views.append(view)
            self._held += [array, holder, dims, strides]

    def bind(self, result: Result) -> None:
        c = library()
        call = c.shardrt_result_bind if self.kind == "output" else c.shardrt_result_bind_input
        for view in self._views:
            check(call(result.handle, ctypes.byref(view)))


class Binding:
    """Arrays that runs read and write where they are (Session.bind).

        ids, logits = np.zeros((1, 8), np.int64), np.zeros((1, 8, 1024), np.float32)
        binding = session.bind({"input_ids": ids}, {"logits": logits})
        ids[:] = ...
        binding.run()
    """

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
        from .session import run_options

        session, given = self._session, Inputs(inputs or {}, self._session._by_name)
        options = run_options(deadline, cancellation)
        with session._using() as handle, state._using(session) if state is not None else contextlib.nullcontext() as kept:
            with session._bound(handle, self._inputs, self._out) as result:
                run_into = library().shardrt_run_into
                check(run_into(handle, kept, ctypes.byref(options), given.tensors, len(given.tensors), result.handle))
                return result.arrays(session.outputs, state is not None, self._out)

    def __repr__(self) -> str:
        return f"<shardrt.Binding, inputs {', '.join(self._inputs.arrays)}, outputs {', '.join(self._out.arrays)}>"
