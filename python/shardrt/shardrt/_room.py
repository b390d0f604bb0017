"""Whether KV caches of a pool fit beside what ranks hold already, before any of them is filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Optional

from .errors import ArtifactError

if TYPE_CHECKING:
    from .session import Session
    from .statistics import RankNeeds


def check_room(session: Session, positions: int, replica: Optional[int] = None) -> None:
    """Of so many positions on a replica; None: on each of them."""
    needs = session._needs_of_ranks()
    filled = _of_replica(needs, session, replica)
    for device in dict.fromkeys(each.device for each in filled):
        on = [each for each in needs if each.device == device]
        held = sum(each.weight_bytes + each.value_bytes for each in on)
        position = sum(each.cache_position_bytes for each in filled if each.device == device)
        free = on[0].free_bytes
        if held + position * positions <= free:
            continue
        who = f"{on[0].rank} needs" if len(on) == 1 else f"{len(on)} ranks, {on[0].rank} among them, need"
        raise ArtifactError(
            f"{who} {held + position * positions} bytes on {device}, which has {free} free: {held} of weights and intermediate values, "
            f"{position * positions} of KV caches of {positions} positions; there would be room for {max(free - held, 0) // max(position, 1)} "
            "positions: ask for fewer"
        )  # fmt: skip


def _of_replica(needs: Sequence[RankNeeds], session: Session, replica: Optional[int]) -> Sequence[RankNeeds]:
    """Those ranks of this process that are the replica's; ranks of a replica are beside each other."""
    if replica is None or len(needs) < session.world_size:
        return needs
    size = session.world_size // session.num_replicas
    return needs[replica * size : (replica + 1) * size]
