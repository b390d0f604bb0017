"""Rows of any sequences in one step, of a model that was compiled with --serve."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence as Rows
from dataclasses import dataclass
from typing import Any, Optional

from . import _checks
from ._held import Closing, Held
from ._library import BatchStepOfC, RowOfC, library
from ._room import check_room
from ._tensors import Array, Inputs
from ._types import dtype_of
from .cancellation import Cancellation, run_options
from .errors import check
from .session import Session

WANTED = ("last", "all", "none")


@dataclass(frozen=True)
class Row:
    """New positions of a sequence."""

    sequence: Sequence
    """Whose they are."""
    inputs: Mapping[str, Any]
    """Those of a request of it alone, [1, positions, ...], without past."""
    wanted: str = "last"
    """Outputs of its "last" position, of "all" of them, or of "none"."""


class Pool(Closing):
    """Keys and values of all sequences, in pages (Session.pool).

        with session.pool(positions=65536) as pool:
            a, b = pool.sequence(), pool.sequence()
            logits = pool.step([Row(a, prompt_inputs), Row(b, token_inputs)])["logits"]     # [1, 2, words]
    """

    _instead = "make another one by Session.pool(), or share this one"

    def __init__(self, session: Session, positions: int, replica: Optional[int] = None, *, may_overfill: bool = False) -> None:
        """may_overfill: for more positions than there is memory for, which is taken as positions are."""
        self._session, self._lock = session, threading.RLock()  # __del__ of a sequence may come where it is held
        self._handle: Optional[int] = None
        self._sequences: weakref.WeakSet[Sequence] = weakref.WeakSet()
        made, positions = ctypes.c_void_p(), _checks.whole("positions", positions, _checks.COUNT)
        if replica is not None:
            replica = _checks.whole("replica", replica, _checks.Range(0, session.num_replicas - 1))
        if session.page and not may_overfill:
            check_room(session, positions, 0 if replica is None else replica)
        with session._using() as handle, _checks.room("positions", positions):
            if replica is None:
                check(library().shardrt_pool_create(handle, positions, ctypes.byref(made)))
            else:
                check(library().shardrt_pool_create_on(handle, positions, replica, ctypes.byref(made)))
        self._handle = made.value
        session._parts.add(self)

    @contextlib.contextmanager
    def _using(self) -> Iterator[int]:
        with self._lock:
            if self._handle is None:
                raise ValueError("the pool is closed")
            yield self._handle

    @property
    def page(self) -> int:
        """Positions of a page."""
        with self._using() as handle:
            return int(library().shardrt_pool_page(handle))

    @property
    def pages(self) -> int:
        """In all."""
        with self._using() as handle:
            return int(library().shardrt_pool_pages(handle))

    @property
    def free_pages(self) -> int:
        """That no sequence has."""
        with self._using() as handle:
            return int(library().shardrt_pool_free_pages(handle))

    def sequence(self) -> Sequence:
        """A new one, empty."""
        made = ctypes.c_void_p()
        with self._using() as handle:
            check(library().shardrt_sequence_create(handle, ctypes.byref(made)))
        return Sequence(self, made)

    @property
    def is_lost(self) -> bool:
        """What its sequences held is gone, and steps are errors until it is renewed: the session was opened again."""
        with self._using() as handle:
            return bool(library().shardrt_pool_is_lost(handle))

    def renew(self) -> None:
        """Empty again, and so are its sequences, lost or not."""
        with self._session._using(), self._using() as handle:
            check(library().shardrt_pool_renew(handle))

    def step(
        self, rows: Rows[Row], *, deadline: Optional[float] = None, cancellation: Optional[Cancellation] = None
    ) -> dict[str, Array]:
        """Runs rows of different sequences, which then have their positions. Outputs have what is wanted, row after row,
        [1, positions, ...]; those of caches are not there. After an error the sequences are as before.

        rows: of sequences of this pool, each in one row alone.
        deadline: seconds after which the step ends with DeadlineExceeded.
        cancellation: who may end it from another thread, with Cancelled.
        """
        session, options = self._session, run_options(deadline, cancellation)
        held = self._inputs_of(rows)
        with session._using() as opened, self._using() as handle:
            of_c, result = self._rows_of_c(rows, held), session._results.take(opened)
            check(library().shardrt_step_into_with(handle, ctypes.byref(options), of_c, len(rows), result.handle))
            return result.arrays(session.outputs, kept=True)

    def step_batch(
        self, steps: Rows[Rows[Row]], *, deadline: Optional[float] = None, cancellation: Optional[Cancellation] = None
    ) -> list[dict[str, Array]]:
        """Runs steps in order, and returns the outputs of each, as step() does: through the stages of a pipeline (--pp) one
        behind the other, several at a time. After an error all sequences are as before.

            first, second = pool.step_batch([[Row(a, token_of_a)], [Row(b, token_of_b)]])

        steps: rows of each. A sequence is in one of the steps alone.
        deadline: seconds after which all end with DeadlineExceeded.
        cancellation: who may end all from another thread, with Cancelled.
        """
        session, options = self._session, run_options(deadline, cancellation)
        held, together = [self._inputs_of(rows) for rows in steps], (BatchStepOfC * len(steps))()
        with session._using() as opened, self._using() as handle:
            results = [session._results.take(opened) for _ in steps]
            for of_c, rows, inputs, result in zip(together, steps, held, results):
                of_c.rows, of_c.num_rows, of_c.result = self._rows_of_c(rows, inputs), len(rows), result.handle
            check(library().shardrt_step_batch(handle, ctypes.byref(options), together, len(together)))
            return [result.arrays(session.outputs, kept=True) for result in results]

    def _inputs_of(self, rows: Rows[Row]) -> list[Inputs]:
        """Of each; what outputs need is found before anything runs."""
        for row in rows:
            _checks.given("a row", row, Row, optional=False)
        for info in self._session.outputs:
            dtype_of(info.dtype, f"output '{info.name}'")
        return [Inputs(row.inputs, self._session._by_name) for row in rows]

    def _rows_of_c(self, rows: Rows[Row], inputs: Rows[Inputs]) -> ctypes.Array[RowOfC]:
        """As C has them; they point into `inputs`."""
        found = (RowOfC * len(rows))()
        for of_c, row, given in zip(found, rows, inputs):
            if row.wanted not in WANTED:
                raise ValueError(f"wanted is {row.wanted!r}, expected one of {', '.join(WANTED)}")
            of_c.sequence, of_c.inputs, of_c.num_inputs = row.sequence._handle_in(self), given.tensors, len(given.tensors)
            of_c.wanted = WANTED.index(row.wanted)
        return found

    async def step_async(self, rows: Rows[Row], *, deadline: Optional[float] = None) -> dict[str, Array]:
        """As step, on a thread beside the event loop. If the task is cancelled, so is the step."""
        cancellation = Cancellation()
        try:
            return await asyncio.to_thread(self.step, rows, deadline=deadline, cancellation=cancellation)
        except asyncio.CancelledError:
            cancellation.cancel()
            raise

    def close(self) -> None:
        """Gives all back, sequences too."""
        for sequence in list(self._sequences):
            sequence.close()
        with self._lock:
            handle, self._handle = self._handle, None
        if handle is not None and os.getpid() == self._session._process:
            library().shardrt_pool_destroy(handle)

    def __repr__(self) -> str:
        if self._handle is None:
            return "<shardrt.Pool, closed>"
        return f"<shardrt.Pool, {self.free_pages} of {self.pages} pages of {self.page} positions free>"


class Sequence(Held):
    """Positions of one text in a pool (Pool.sequence)."""

    _instead = "use fork()"

    def __init__(self, pool: Pool, handle: ctypes.c_void_p) -> None:
        self._pool, self._handle = pool, handle.value
        pool._sequences.add(self)

    def _handle_in(self, pool: Pool) -> int:
        if self._handle is None:
            raise ValueError("the sequence is closed")
        if pool is not self._pool:
            raise ValueError("the sequence is of another pool")
        return self._handle

    def __len__(self) -> int:
        """Positions so far."""
        return int(library().shardrt_sequence_length(self._handle_in(self._pool)))

    def fork(self) -> Sequence:
        """Another one with the same positions, which takes no memory: pages are theirs together until one of them writes
        into the last."""
        made = ctypes.c_void_p()
        with self._pool._using():
            check(library().shardrt_sequence_fork(self._handle_in(self._pool), ctypes.byref(made)))
        return Sequence(self._pool, made)

    def truncate(self, length: int) -> None:
        """Forgets all positions from `length` on."""
        length = _checks.whole("length", length)
        with self._pool._using():
            check(library().shardrt_sequence_truncate(self._handle_in(self._pool), length))

    def close(self) -> None:
        """Gives its pages back."""
        with self._pool._lock:
            handle, self._handle = self._handle, None
            if handle is not None and os.getpid() == self._pool._session._process:
                library().shardrt_sequence_destroy(handle)

    def __repr__(self) -> str:
        return "<shardrt.Sequence, closed>" if self._handle is None else f"<shardrt.Sequence, {len(self)} positions>"
