"""What a compile has decided, as values: who talks to whom, what each rank holds, and the text of each phase."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional, Union

from . import _program
from .choices import Choice, read_choices

Size = Union[int, str, None]
PHASES = ("raw", "imported", "sharded", "staged", "partitioned", "lowered", "packaged")
"""Of the compiler, in order, for Plan.text."""


@dataclass(frozen=True)
class Collective:
    """One that each run has, or each of a profile. Bytes are text ("batch * seq * 512") where a size is not given: give dims."""

    kind: str
    """"all_reduce", "all_gather", "reduce_scatter", "all_to_all", ..."""
    axis: str
    """Of the mesh, over which ranks meet: "tp"."""
    node: str
    """Of the ONNX model, behind which it is."""
    why: str
    """What it is there for, in words."""
    bytes: Size
    """Of the whole value that a group of ranks has together."""
    wire_bytes: Size
    """That the ranks of a group send, together."""
    seconds: Optional[float] = None
    """Predicted, where there is a topology."""
    layer: Optional[int] = None
    """Of the model, from 0; None: it is in none."""
    stage: Optional[int] = None
    """Of the pipeline, if there is one."""
    profile: str = ""
    """Whose runs have it; "": all."""


@dataclass(frozen=True)
class Transfer:
    """The values that one stage of a pipeline hands to another."""

    node: str
    """Of the ONNX model, whose output it is."""
    source: int
    """The stage that has it."""
    target: int
    """The stage that gets it."""
    bytes: Size
    """Of the part that each rank sends, as in Collective."""
    seconds: Optional[float] = None
    """Predicted, where there is a topology."""
    profile: str = ""
    """Whose runs have it; "": all."""


@dataclass(frozen=True)
class RankMemory:
    """Bytes of one rank; None where a size is not known."""

    rank: int
    """Its number, from 0."""
    coords: Mapping[str, int]
    """Its place in the mesh, {"pp": 1, "tp": 0}."""
    weights: int
    """Of its parts of the weights."""
    activations: Optional[int]
    """Of values on the way."""
    kv: Optional[int]
    """Of KV caches at the given dims."""
    kv_per_position: Optional[int]
    """Of KV caches, for each position of a text."""


@dataclass(frozen=True)
class Plan:
    """One way to split a model (shardc.compile, shardc.explain)."""

    model: str
    """The file."""
    flags: tuple[str, ...]
    """Of the program, as it was called."""
    mesh: Mapping[str, int]
    """Ways by axis, {"pp": 2, "tp": 8}."""
    dims: Mapping[str, int]
    """Sizes that bytes are of."""
    missing_dims: tuple[str, ...]
    """Those that were not given: bytes that depend on them are text."""
    collectives: tuple[Collective, ...]
    """Of all stages, in the order in which they are."""
    transfers: tuple[Transfer, ...]
    """Between stages."""
    memory: tuple[RankMemory, ...]
    """Of each rank."""
    structures: Mapping[str, int]
    """What was recognised, {"Attention": 4}."""
    profiles: tuple[str, ...]
    """Of lengths that it was compiled for; none: one program for all."""
    compile_seconds: float
    """What the compiler took."""
    warnings: tuple[str, ...]
    """What the compiler has warned of."""
    artifact: Optional[str]
    """The folder that was written, if any."""
    json: Mapping[str, Any] = field(repr=False)
    """All that --explain-json says."""

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What splits each node and weight, in the plan's order; those that run whole on each rank are not there.

            {each.node: each.why for each in plan.choices if each.operator == "MatMul"}
        """
        return read_choices(self.json["plan"])

    @property
    def world_size(self) -> int:
        """Ranks, of all stages and replicas."""
        return len(self.memory)

    def count(self, kind: Optional[str] = None, axis: Optional[str] = None, profile: Optional[str] = None) -> int:
        """Collectives a run, of that kind, axis and profile where they are given."""
        return sum(
            kind in (None, each.kind) and axis in (None, each.axis) and profile in (None, each.profile)
            for each in self.collectives
        )

    def text(self, phase: str = "partitioned") -> str:
        """The program after a phase, as MLIR; see PHASES. Compiles the model again, up to there."""
        if phase not in PHASES:
            raise ValueError(f"phase is {phase!r}, expected one of {', '.join(PHASES)}")
        return _program.run([self.model, *self.flags, f"--to={phase}"], model=self.model).stdout

    def save(self, file: "str | os.PathLike[str]") -> None:
        """Writes the decisions alone, for load_plan=FILE of a later compile."""
        Path(file).write_text(json.dumps(self.json["plan"], indent=1) + "\n")

    def explain(self, node: Optional[str] = None) -> str:
        """What it communicates and holds, in words; of a node or weight: what splits it, and what that causes."""
        if node is not None:
            return _program.run(["explain", self.artifact or self.model, node, *(() if self.artifact else self.flags)]).stdout
        return self._with_file("explain", [])

    def lint(self, rules: Sequence[str]) -> str:
        """Checks rules such as "max all_reduce per layer 2"; raises AssertionError with what does not keep them."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rules"
            file.write_text("\n".join(rules) + "\n")
            return self._with_file("lint", [str(file)])

    def _with_file(self, command: str, arguments: Sequence[str]) -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "plan.json"
            file.write_text(json.dumps(self.json))
            done = _program.run([command, str(file), *arguments], accept=(0, 1))
            said = done.stdout + done.stderr
            if done.returncode == 1:
                raise AssertionError(said.replace(str(file), "plan").strip())
            return said

    def __str__(self) -> str:
        mesh = " x ".join(f"{name} {size}" for name, size in self.mesh.items()) or "one rank"
        kinds = Counter((each.kind, each.axis, each.profile) for each in self.collectives)
        lines = [f"{self.model} over {mesh}: {self.world_size} ranks"]
        for (kind, axis, profile), count in sorted(kinds.items()):
            lines.append(f"  {count} {kind} over {axis}" + (f" ({profile})" if profile else ""))
        most = max(self.memory, key=lambda rank: rank.weights, default=None)
        if most is not None:
            lines.append(f"  at most {most.weights / 2**20:.1f} MiB of weights a rank")
        return "\n".join(lines)

    def __repr__(self) -> str:
        where = f", in {self.artifact!r}" if self.artifact else ""
        return f"<shardc.Plan of {self.model!r}, mesh {dict(self.mesh)}, {len(self.collectives)} collectives{where}>"


def read_plan(
    said: Mapping[str, Any], model: str, flags: Sequence[str], warnings: Sequence[str], artifact: Optional[str]
) -> Plan:
    """Of what --explain-json has written."""
    collectives = [
        Collective(
            each["kind"], each["axis"], each["node"], each["why"], each["bytes"], each["wire_bytes"], each.get("seconds"),
            each.get("layer"), each.get("stage"), each.get("profile", ""),
        )  # fmt: skip
        for each in said["collectives"]
    ]
    transfers = [
        Transfer(each["node"], each["from"], each["to"], each["bytes"], each.get("seconds"), each.get("profile", ""))
        for each in said["transfers"]
    ]
    memory = [
        RankMemory(
            each["rank"], each["coords"], each["weight_bytes"], each["activation_bytes"], each["kv_bytes"],
            each["kv_bytes_per_position"],
        )  # fmt: skip
        for each in said["ranks"]
    ]
    return Plan(
        model=model, flags=tuple(flags), mesh=said["mesh"], dims=said["dims"], missing_dims=tuple(said["missing_dims"]),
        collectives=tuple(collectives), transfers=tuple(transfers), memory=tuple(memory), structures=said["structures"],
        profiles=tuple(each["name"] for each in said["profiles"]), compile_seconds=said["compile_seconds"],
        warnings=tuple(warnings), artifact=artifact, json=said,
    )  # fmt: skip
