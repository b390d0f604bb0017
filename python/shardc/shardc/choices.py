"""What a plan has decided of each node and weight, as values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Split:
    """A dim of a node that is cut over ranks."""

    of: str
    """"operand 1" or "result 0" of the node."""
    dim: int
    """Of it, from 0."""
    size: str
    """Of what is cut: of a dim [heads * 64] that may be the heads, "32". A number, or what it follows from: "batch"."""
    axes: tuple[str, ...]
    """Of the mesh, over which it is cut: ("tp",); a part of one is "tp:(4)2"."""
    region: int
    """Nodes and weights whose splits have the same one share the dim, which is cut in all of them: between these nothing is
    communicated for it."""
    others: int
    """How many these are, beside this one."""


@dataclass(frozen=True)
class Choice:
    """How a node or weight is computed. What a plan does not list runs whole on each rank."""

    node: str
    """Of the ONNX model; or the name of a weight."""
    operator: str
    """"MatMul"; of a weight "Weight"."""
    splits: tuple[Split, ...]
    """All of its dims that are cut."""
    partial_over: tuple[str, ...] = ()
    """Axes over which its sums stay in parts, which are added up together with others."""
    in_turn_over: tuple[str, ...] = ()
    """Axes over which the keys of an attention come in turn."""
    index: int = 0
    """Which of the operators that the node has become, from 0."""
    profile: str = ""
    """Whose runs have it; "": all."""

    @property
    def why(self) -> str:
        """In words. What the best alternative would cost is said by Plan.explain(node)."""
        found = [
            f"{each.of}, dim {each.dim}: {each.size} split over {', '.join(each.axes)}"
            + (f", as in {each.others} other{'s' if each.others > 1 else ''}" if each.others else "")
            for each in self.splits
        ]
        if self.partial_over:
            found.append(f"sums stay in parts over {', '.join(self.partial_over)}")
        if self.in_turn_over:
            found.append(f"keys come in turn over {', '.join(self.in_turn_over)}")
        return "; ".join(found)


def read_choices(plan: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Of what --save-plan has written."""
    found = []
    for program, entries in plan["programs"].items():
        regions: dict[int, set[str]] = defaultdict(set)
        for entry in entries:
            for split in entry.get("splits", ()):
                regions[split["region"]].add(entry["node"])
        for entry in entries:
            splits = tuple(
                Split(each["of"], each["dim"], each["size"], tuple(each["axes"]), each["region"], len(regions[each["region"]]) - 1)
                for each in entry.get("splits", ())
            )
            found.append(Choice(entry["node"], entry["op"], splits, tuple(entry.get("carries", ())), tuple(entry.get("in_turn", ())),
                                entry.get("index", 0), "" if program == "main" else program))  # fmt: skip
    return tuple(found)
