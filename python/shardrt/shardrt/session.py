"""Artifacts that are opened, and runs of requests."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _checks, _progress, _requests
from ._held import Closing
from ._library import ON_PROGRESS, BatchRequestOfC, OptionsOfC, SessionInfoOfC, SpentOfC, ValueInfoOfC, library
from ._tensors import Inputs, Result, Results
from ._types import NAMES, dtype_of
from .bindings import Binding, Views, _views_on_devices
from .cancellation import Cancellation, run_options
from .errors import InvalidArgument, check
from .processes import Processes
from .state import State
from .statistics import RankNeeds, Statistics, statistics_of

if TYPE_CHECKING:
    from .sequences import Pool


@dataclass(frozen=True)
class ValueInfo:
    """An input or output."""

    name: str
    """As the model has it."""
    dtype: str
    """Of its elements: "int64", "float32", "bfloat16"."""
    dims: tuple[str, ...]
    """Sizes as text: "8", or what follows from a request: "batch", "past + seq"."""
    is_cache: bool
    """It is kept by a State, or by sequences, in place of the caller."""
    num_rows: Optional[int] = None
    """Of the table whose rows its elements look up: of token ids, how many the model knows. None: there is none, as far as is known."""

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype} [{', '.join(self.dims)}]" + (" (cache)" if self.is_cache else "")


@dataclass(frozen=True)
class Spent:
    """What ranks of this process have spent, added up. On the host: ranks on other devices have none."""

    kind: str
    """"collective" over some axes, "busy" of a stage in steps, "receive" waiting there for other stages, "active" of a
    server's replicas."""
    name: str
    """The axes ("tp", "ep,tp"), or the stage."""
    seconds: float
    """Of all that add to it."""
    count: int
    """How often that was."""
    adders: int
    """Ranks, or replicas, that add to it now."""


def _infos(count: int, get: Any, session: int) -> tuple[ValueInfo, ...]:
    found = []
    for index in range(count):
        info = ValueInfoOfC(size=ctypes.sizeof(ValueInfoOfC))
        check(get(session, index, ctypes.byref(info)))
        dims = tuple(info.dims[i].decode() for i in range(info.rank))
        found.append(ValueInfo(info.name.decode(), NAMES[info.type], dims, bool(info.is_cache), info.num_rows or None))
    return tuple(found)


_opened: weakref.WeakSet[Session] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for session in list(_opened):
        session.close()


class Session(Closing):
    """A compiled model, opened; its ranks are threads of this process.

        with shardrt.Session("model.shard") as session:
            logits = session.run({"input_ids": ids})["logits"]

    Threads may share it: requests run side by side on the replicas of an artifact (--dp), else one after the other
    (run_batch: in the stages of a pipeline at a time). A process that was forked after it was opened cannot use it.

    artifact: the folder that shardc wrote. It holds native code: open only what you would run as a program.
    device: "host", "cuda" (each rank on a GPU of its own) or "cuda:0"; None: as the artifact says.
    weights_root: folder of the model's files, if they have moved.
    timeout: seconds that a rank waits for others; None: 60, or SHARDC_TIMEOUT.
    threads: of each rank's kernels on the host; 0: an equal share of the cores.
    check_replicas: compare the bits of what several ranks have.
    native_code: False runs no code of the artifact's, and raises where it has some.
    loads_beside: open at once, and read weights beside the first runs.
    preflight: check that ranks fit and reach each other, and load nothing: statistics() then says what they need, and all runs
        raise.
    cache_positions: of KV caches, at batch 1, that have to fit, too, or nothing is loaded.
    measure: keep times of instructions, for statistics() and write_trace().
    processes: of which each is a rank (shardrt.join); None: ranks are threads of this one.
    progress: called with the bytes of weights that have come, and those of all, by some thread; True: a bar on stderr; None:
        that, where stderr is a terminal or a notebook, opening takes a while, and SHARDC_PROGRESS is not 0.
    """

    artifact: str
    """The folder."""
    weights_root: Optional[str]
    """As it was given."""
    inputs: tuple[ValueInfo, ...]
    """Of the model, in its order."""
    outputs: tuple[ValueInfo, ...]
    """Likewise."""
    world_size: int
    """Ranks, of all stages and replicas."""
    num_stages: int
    """Of each replica's pipeline (--pp)."""
    num_replicas: int
    """Of the model (--dp)."""
    page: int
    """Positions of a page, of a model that was compiled with --serve (Pool); else 0."""
    is_causal: bool
    """Of such a model: texts may come in parts."""
    tolerance: str
    """How exact outputs are: "f32", "low" (16-bit floats) or "quant"."""
    has_independent_rows: bool
    """Each row of a request's batch gets what it gets alone. False also where that is not known, as of a model that scales
    activations by the largest of them all."""

    _instead = "open the artifact again, in each process, or share this one between threads"

    def __init__(
        self,
        artifact: Union[str, os.PathLike[str]],
        *,
        device: Optional[str] = None,
        weights_root: Union[str, os.PathLike[str], None] = None,
        timeout: Optional[float] = None,
        threads: int = 0,
        check_replicas: bool = False,
        native_code: bool = True,
        loads_beside: bool = False,
        preflight: bool = False,
        cache_positions: int = 0,
        measure: bool = False,
        processes: Optional[Processes] = None,
        progress: Union[Callable[[int, int], None], bool, None] = None,
    ) -> None:
        self._handle: Optional[int] = None
        self._process = os.getpid()
        self._lock = threading.Condition()
        self._running = 0
        self._results = Results()
        self._parts: weakref.WeakSet[Any] = weakref.WeakSet()
        self._needs: Optional[tuple[RankNeeds, ...]] = None
        folder = _checks.path("artifact", artifact)
        root = _checks.path("weights_root", weights_root) if weights_root is not None else None
        _checks.given("device", device, str)
        _checks.given("processes", processes, Processes)
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise TypeError(f"progress is {_checks.shown(progress)}, expected a function, True, False or None")
        self.artifact = os.fspath(artifact)
        self.weights_root = os.fspath(weights_root) if weights_root is not None else None
        bar = _progress.Bar("weights") if progress is True or (progress is None and _progress.is_seen()) else None
        on_progress = bar or (progress if callable(progress) else None)
        # As long as the session: weights may come beside runs.
        self._on_progress = ON_PROGRESS(lambda loaded, of, _: on_progress(loaded, of)) if on_progress else ON_PROGRESS()
        options = OptionsOfC(
            size=ctypes.sizeof(OptionsOfC),
            weights_root=root,
            timeout_seconds=_checks.seconds("timeout", timeout, _checks.TIMEOUT) or 0,
            check_replicas=_checks.flag("check_replicas", check_replicas),
            no_kernels=not _checks.flag("native_code", native_code),
            threads=_checks.whole("threads", threads, _checks.THREADS),
            device=device.encode() if device is not None else None,
            loads_beside=_checks.flag("loads_beside", loads_beside),
            processes=processes._for_session(self) if processes is not None else None,
            on_progress=self._on_progress,
            preflight=_checks.flag("preflight", preflight),
            measure=_checks.flag("measure", measure),
            cache_positions=_checks.whole("cache_positions", cache_positions),
        )
        made = ctypes.c_void_p()
        try:
            check(library().shardrt_open(folder, ctypes.byref(options), ctypes.byref(made)))
        finally:
            if bar:
                bar.finish()
        assert made.value is not None
        self._handle = made.value
        _opened.add(self)
        self._read_info(made.value)

    def _read_info(self, handle: int) -> None:
        c = library()
        self.inputs = _infos(c.shardrt_num_inputs(handle), c.shardrt_input_info, handle)
        self.outputs = _infos(c.shardrt_num_outputs(handle), c.shardrt_output_info, handle)
        self._by_name = {info.name: info for info in self.inputs}
        info = SessionInfoOfC(size=ctypes.sizeof(SessionInfoOfC))
        check(c.shardrt_info(handle, ctypes.byref(info)))
        self.world_size, self.num_stages, self.num_replicas = info.world_size, info.num_stages, info.num_replicas
        self.page, self.is_causal, self.tolerance = info.page, bool(info.is_causal), info.tolerance.decode()
        self.has_independent_rows = bool(info.has_independent_rows)

    def _check_for_requests(self) -> None:
        """What was compiled for rows of sequences runs these alone."""
        if self.page:
            raise InvalidArgument(f"{self.artifact} was compiled with --serve, for steps of rows: use Session.pool, shardrt.Generator, "
                                  "shardrt.Server or shardrt serve, or compile it without --serve")  # fmt: skip

    def __repr__(self) -> str:
        state = "closed" if self._handle is None else f"{self.world_size} rank{'s' if self.world_size != 1 else ''}"
        # Of steps of rows, what a Row has.
        shown = [[info for info in infos if not (self.page and (info.is_cache or info.name.startswith("rows.")))]
                 for infos in (self.inputs, self.outputs)]  # fmt: skip
        inputs, outputs = ("".join(f"\n  {way} {info}" for info in infos) for way, infos in zip(("in  ", "out "), shown))
        state += f", steps of rows, pages of {self.page} positions" if self.page else ""
        return f"<shardrt.Session {self.artifact!r}, {state}{inputs}{outputs}>"

    def spent(self) -> list[Spent]:
        """What its time went to since it was opened, whatever runs."""
        c, found = library(), []
        with self._using() as handle:
            for index in range(c.shardrt_num_spent(handle)):
                each = SpentOfC(size=ctypes.sizeof(SpentOfC))
                check(c.shardrt_spent_at(handle, index, ctypes.byref(each)))
                found.append(Spent(each.kind.decode(), each.name.decode(), each.seconds, each.count, each.adders))
        return found

    def statistics(self) -> Statistics:
        """What ranks of this process have, need, and did so far. Waits for runs that are under way."""
        with self._using() as handle:
            return statistics_of(handle)

    def write_trace(self, path: Union[str, os.PathLike[str]]) -> None:
        """A timeline of the last run for Perfetto, of a session that measures. Waits as statistics() does."""
        with self._using() as handle:
            check(library().shardrt_write_trace(handle, os.fsencode(path)))

    def _needs_of_ranks(self) -> tuple[RankNeeds, ...]:
        """As they were found when it was opened: runs do not change them."""
        if self._needs is None:
            self._needs = self.statistics().needs
        return self._needs

    @contextlib.contextmanager
    def _using(self) -> Iterator[int]:
        """The handle, which is not closed meanwhile."""
        if os.getpid() != self._process:
            raise RuntimeError("the session was opened before this process was forked: open the artifact in here")
        with self._lock:
            if self._handle is None:
                raise ValueError("the session is closed")
            self._running += 1
            handle = self._handle
        try:
            yield handle
        finally:
            with self._lock:
                self._running -= 1
                self._lock.notify_all()

    def run(
        self,
        inputs: Mapping[str, Any],
        *,
        state: Optional[State] = None,
        out: Optional[Mapping[str, Any]] = None,
        deadline: Optional[float] = None,
        cancellation: Optional[Cancellation] = None,
    ) -> dict[str, Any]:
        """Runs one request, and returns its outputs by name.

        inputs: by name: NumPy arrays, anything with __dlpack__ (PyTorch's tensors), or numbers and lists, which become what
            the input is where that has them exactly (no 2.5 for an integer). Arrays have the type and the shape that
            `Session.inputs` says, such as int64 [batch, positions]; they are not copied, unless their strides are not those
            of a dense row-major array. They are in the host's memory, or in that of a GPU that ranks are on: then nothing of
            them goes through the host, and a run waits for what their stream has to do.
        state: keeps the KV caches; inputs and outputs that are caches are then left out.
        out: arrays that outputs are written into, by name, of the type and shape that they have, NumPy's or with
            __dlpack__: in place where they are dense and row-major, else copied once; from device to device where they are
            in memory of a GPU. They are what is returned then, and complete. After an error their contents are undefined.
        deadline: seconds after which the run ends with DeadlineExceeded.
        cancellation: who may end it from another thread, with Cancelled.

        Other outputs are NumPy arrays of the shapes that `Session.outputs` says, in memory of their own, which is the runtime's:
        nothing is copied, and later runs leave them alone. (torch.from_dlpack takes them without a copy as well.)
        """
        (given, there), views = self._inputs_of(inputs), self._views_of(out)
        _checks.given("state", state, State)
        options = run_options(deadline, cancellation)
        with self._using() as handle, state._using(self) if state is not None else contextlib.nullcontext() as kept:
            with self._bound(handle, there, views) as result:
                run_into = library().shardrt_run_into
                check(run_into(handle, kept, ctypes.byref(options), given.tensors, len(given.tensors), result.handle))
                return result.arrays(self.outputs, state is not None, views)

    def run_batch(
        self,
        requests: Sequence[Mapping[str, Any]],
        *,
        deadline: Optional[float] = None,
        cancellation: Optional[Cancellation] = None,
    ) -> list[dict[str, Any]]:
        """Runs requests together, and returns the outputs of each, as run() does: over the replicas of an artifact (--dp), and
        several at a time through the stages of a pipeline (--pp), one behind the other. Each computes what it does alone.

            first, second = session.run_batch([{"input_ids": a}, {"input_ids": b}])

        requests: inputs of each, as for run(), of any sizes. None of them has a state.
        deadline: seconds after which all end with DeadlineExceeded.
        cancellation: who may end all from another thread, with Cancelled.

        All are tried; the first error is raised, and then none has outputs.
        """
        given = [self._inputs_of(each) for each in requests]
        self._views_of(None)
        options, together = run_options(deadline, cancellation), (BatchRequestOfC * len(given))()
        with contextlib.ExitStack() as bound:
            handle = bound.enter_context(self._using())
            results = [bound.enter_context(self._bound(handle, there)) for _, there in given]
            for of_c, (inputs, _), result in zip(together, given, results):
                of_c.inputs, of_c.num_inputs, of_c.result = inputs.tensors, len(inputs.tensors), result.handle
            check(library().shardrt_run_batch(handle, ctypes.byref(options), together, len(together)))
            return [result.arrays(self.outputs, False) for result in results]

    def _inputs_of(self, inputs: Mapping[str, Any]) -> tuple[Inputs, Optional[Views]]:
        """Those of the host, and those that are on a device."""
        self._check_for_requests()
        if not isinstance(inputs, Mapping):
            raise TypeError(f"inputs are {_checks.shown(inputs)}, expected arrays by name: {{'{self.inputs[0].name}': ...}}")
        unnamed = next((name for name in inputs if not isinstance(name, str)), None)
        if unnamed is not None:
            raise TypeError(f"an input has the name {_checks.shown(unnamed)}, expected a text")
        there = _views_on_devices(inputs)
        left = {name: value for name, value in inputs.items() if name not in there.arrays} if there else inputs
        return Inputs(left, self._by_name), there

    def _views_of(self, out: Optional[Mapping[str, Any]]) -> Optional[Views]:
        _checks.given("out", out, Mapping)
        _checks.names("output", out or (), (info.name for info in self.outputs))
        views = Views("output", out) if out else None
        for info in self.outputs:
            if views is None or info.name not in views.arrays:
                dtype_of(info.dtype, f"output '{info.name}'")  # before it has run
        return views

    @contextlib.contextmanager
    def _bound(self, handle: int, *views: Optional[Views]) -> Iterator[Result]:
        """A result that writes, and reads, there meanwhile."""
        result = self._results.take(handle)
        try:
            for each in views:
                if each is not None:
                    each.bind(result)
            yield result
        finally:
            if any(views):
                library().shardrt_result_unbind(result.handle)

    def bind(self, inputs: Mapping[str, Any], out: Mapping[str, Any]) -> Binding:
        """For runs again and again: arrays that hold inputs, and those that outputs are written into (see run). NumPy's, or
        with __dlpack__; inputs may have any strides, and those that are not dense are copied by each run. Runs wait for the
        default stream of a GPU that has one of them, and for no other stream."""
        self._check_for_requests()
        for kind, arrays, infos in (("input", inputs, self.inputs), ("output", out, self.outputs)):
            _checks.given(f"{kind}s", arrays, Mapping, optional=False)
            _checks.names(kind, arrays, (info.name for info in infos))
        return Binding(self, Views("input", inputs), Views("output", out))

    async def run_async(
        self,
        inputs: Mapping[str, Any],
        *,
        state: Optional[State] = None,
        out: Optional[Mapping[str, Any]] = None,
        deadline: Optional[float] = None,
    ) -> dict[str, Any]:
        """As run, on a thread of the library's beside the event loop. If the task is cancelled, so is the run."""
        (given, there), views = self._inputs_of(inputs), self._views_of(out)
        _checks.given("state", state, State)
        options = run_options(deadline, None)
        with contextlib.ExitStack() as pins:
            handle = pins.enter_context(self._using())
            kept = pins.enter_context(state._pinned(self)) if state is not None else None
            with self._bound(handle, there, views) as result:
                submit = library().shardrt_submit
                # Whoever closes the session may be this thread: it waits for the request, not for the task.
                await _requests.run(
                    lambda on_end, request: submit(
                        handle, kept, ctypes.byref(options), given.tensors, len(given.tensors), result.handle, on_end, request
                    ),
                    pins.pop_all().close,
                )
                return result.arrays(self.outputs, state is not None, views)

    def state(self, capacity: int, replica: Optional[int] = None) -> State:
        """An empty state of a model with KV caches, for so many positions (prompt and steps): on that replica, from 0, or on each
        in turn."""
        self._check_for_requests()
        made, capacity = ctypes.c_void_p(), _checks.whole("capacity", capacity, _checks.COUNT)
        if replica is not None:
            replica = _checks.whole("replica", replica, _checks.Range(0, self.num_replicas - 1))
        with self._using() as handle, _checks.room("capacity", capacity):
            if replica is None:
                check(library().shardrt_state_create(handle, capacity, ctypes.byref(made)))
            else:
                check(library().shardrt_state_create_on(handle, capacity, replica, ctypes.byref(made)))
            return State(self, made)

    def pool(self, positions: int, replica: Optional[int] = None) -> Pool:
        """Room for sequences of a model that was compiled with --serve, of so many positions in all: on that replica, or on each
        in turn. Steps of pools on different replicas run side by side. An ArtifactError where devices lack memory for so many."""
        from .sequences import Pool

        return Pool(self, positions, replica)

    @property
    def is_lost(self) -> bool:
        """Nothing runs any more, as a rank no longer answers: reopen()."""
        with self._using() as handle:
            return bool(library().shardrt_is_lost(handle))

    def reopen(self, processes: Optional[Processes] = None) -> None:
        """Opens the artifact again in place, of processes with those that have joined again. States of before are lost."""
        with self._using() as handle:
            if processes is None:
                check(library().shardrt_reopen(handle))
            else:
                check(library().shardrt_reopen_with(handle, processes._for_session(self)))

    def follow(self) -> None:
        """Of processes: does what rank 0 does, until that closes its session."""
        with self._using() as handle:
            check(library().shardrt_follow(handle))

    def close(self) -> None:
        """Waits for runs of other threads and gives all back, states and pools too. Outputs stay."""
        if self._handle is None or os.getpid() != self._process:
            return
        for part in list(self._parts):
            part.close()
        with self._lock:
            self._lock.wait_for(lambda: self._running == 0)
            handle, self._handle = self._handle, None
        if handle is not None:
            self._results.close()
            library().shardrt_close(handle)
