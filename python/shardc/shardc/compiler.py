"""Compiles, explains and plans, by the program."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from . import _program
from ._program import Flag
from .candidates import Candidates, read_candidates
from .plans import Plan, read_plan

StrPath = Union[str, "os.PathLike[str]"]


def compile(
    model: StrPath,
    out: StrPath,
    *,
    tp: Optional[int] = None,
    pp: Optional[int] = None,
    dp: Optional[int] = None,
    cp: Optional[int] = None,
    ep: Optional[int] = None,
    fsdp: Optional[int] = None,
    sp: bool = False,
    dims: Optional[Mapping[str, int]] = None,
    topology: Optional[StrPath] = None,
    target: Optional[str] = None,
    weights: Optional[str] = None,
    weights_type: Optional[str] = None,
    serve: Union[bool, int] = False,
    **more: Flag,
) -> Plan:
    """Compiles an ONNX model for many devices into the folder `out`, and returns what was decided.

        plan = shardc.compile("model.onnx", "model.shard", tp=8, pp=4, sp=True)

    tp, pp, dp, cp, ep, fsdp: ways of tensor, pipeline, data, context and expert parallelism, and of sharing out weights.
    sp: with tp: split norms and residuals over the sequence.
    dims: sizes that the plan's bytes are of, {"batch": 1, "seq": 128}.
    topology: the machine, "h100:2x8" or a JSON file: then there are seconds as well.
    target: "host" or "cuda".
    weights: "reference" (the artifact points into the model's files) or "copy".
    weights_type: quantise weights of products: "int8", "int4", with larger groups "int4:128", "fp8" or "bf16".
    serve: compile a step for rows of any sequences, with pages of 64 positions, or of so many.
    more: any other flag of the program, with _ for -: cp_mode="ring", micro_batches=4, pin=["NODE=SHARDING"].

    Raises CompileError with the node and the remedy. What was in `out` is replaced in one step, or stays after an error.
    """
    given: dict[str, Flag] = {"tp": tp, "pp": pp, "dp": dp, "cp": cp, "ep": ep, "fsdp": fsdp, "sp": sp, "dims": dims,
                              "topology": topology, "target": target, "weights": weights,
                              "weights_type": weights_type, "serve": serve, **more}  # fmt: skip
    if not isinstance(out, (str, os.PathLike)):
        raise TypeError(f"out is a {type(out).__name__}, expected the path of a folder, which is written")
    return _explained(model, _program.flags(given), os.fspath(out))


def explain(model: StrPath, **flags: Flag) -> Plan:
    """As compile, without writing an artifact: what a plan would be."""
    return _explained(model, _program.flags(flags), None)


def _file(model: StrPath) -> str:
    """Its path."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    kind = "bytes" if isinstance(model, (bytes, bytearray)) else type(model).__name__
    raise TypeError(f"model is a {kind}, expected the path of a file: save it first, by onnx.save(model, 'model.onnx')")


def _explained(model: StrPath, flags: Sequence[str], out: Optional[str]) -> Plan:
    path = _file(model)
    with tempfile.TemporaryDirectory() as folder:
        file, decisions = Path(folder) / "explain.json", Path(folder) / "plan.json"
        wanted = ["--explain-json", str(file), "--save-plan", str(decisions), *(["-o", out] if out else [])]
        done = _program.run([path, *flags, *wanted], model=path, shows=True)
        said: dict[str, Any] = json.loads(file.read_text())
        said["plan"] = json.loads(decisions.read_text())
    warnings = [line[len("warning: ") :] for line in done.stderr.splitlines() if line.startswith("warning: ")]
    return read_plan(said, path, flags, warnings, out)


def plan(
    model: StrPath,
    topology: StrPath,
    dims: Mapping[str, int],
    *,
    goal: str = "throughput",
    **more: Flag,
) -> Candidates:
    """Predicts memory and time of every parallelism that the machine has devices for, best first. Nothing is compiled.

        best = shardc.plan("model.onnx", "h100:2x8", {"batch": 32, "seq": 1024, "past": 8192}).best

    dims: the requests: prompts of `seq` positions, steps behind `past` ones.
    goal: "throughput" (tokens a second for each device), "latency" (the length of a step) or "fit" (the fewest devices).
    more: degrees that are given, and other flags of `shardc plan`.
    """
    path = _file(model)
    flags = _program.flags({"topology": topology, "dims": dims, "goal": goal, **more})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "candidates.json"
        done = _program.run(["plan", path, *flags, "--json", str(file)], model=path, accept=(0, 1))
        return read_candidates(json.loads(file.read_text()), done.stdout)
