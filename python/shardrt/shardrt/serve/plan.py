"""What the compiler has decided, as the page shows it: who talks to whom in a step, and what each rank holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ..statistics import RankNeeds


def plan_of(manifest: Mapping[str, Any], needs: Sequence[RankNeeds], positions: Optional[int]) -> dict[str, Any]:
    """Of an artifact. positions: of KV caches that each rank has room for; None: there is no pool."""
    collectives = Counter((each["kind"], each["axis"], _size(each), each.get("profile", "")) for each in manifest["collectives"])
    transfers = Counter((each["from"], each["to"], _size(each), each.get("profile", "")) for each in manifest["transfers"])
    caches = {} if positions is None else {_number(each): each.cache_position_bytes * positions for each in needs}
    return {
        "collectives": [{"kind": kind, "axis": axis, "count": count, "bytes": size, "profile": profile}
                        for (kind, axis, size, profile), count in collectives.items()],
        "transfers": [{"from": source, "to": target, "count": count, "bytes": size, "profile": profile}
                      for (source, target, size, profile), count in transfers.items()],
        # Of ranks of other processes it is not known here what their caches take.
        "ranks": [{"rank": each["rank"], "coords": each["coords"], "weight_bytes": each["weight_bytes"], "kv_bytes": caches.get(each["rank"])}
                  for each in manifest["ranks"]],
    }  # fmt: skip


def _size(of: Mapping[str, Any]) -> str:
    """A number, or what it follows from: "tokens of a step * 512"."""
    return str(of["bytes"]).replace('"', "")


def _number(needs: RankNeeds) -> int:
    """Of "rank 5 (pp 1, tp 1)"."""
    return int(needs.rank.split()[1])
