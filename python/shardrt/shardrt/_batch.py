"""Texts of all prompts in one batch of rows: which of them a step has."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Optional

from ._groups import Branch, Group, Prompt
from ._steps import NewTokens, Steps
from .cancellation import Cancellation
from .generation import Piece


@dataclass(frozen=True)
class Wanted:
    """Texts that are to come: made when their turn is, with the room that they may need."""

    make: Callable[[Steps], Group]
    texts: int
    pages: int


def texts_of(prompt: Prompt) -> int:
    return max(prompt.options.n, prompt.options.beams)


def pages_of(prompt: Prompt, page: int) -> int:
    """That a prompt and its texts may need, and what its encoder gave. A step copies the last page of texts that share it
    for each of them, and it is given back behind the step: of two texts and more there are half as many of these."""
    texts = texts_of(prompt)
    each = -(-(len(prompt.ids) + prompt.options.max_tokens) // page) + -(-encoded(prompt) // page)
    return texts * each + texts // 2


def encoded(prompt: Prompt) -> int:
    """Positions of what an encoder gave: [1, positions, ...], or keys [1, heads, positions, ...]."""
    shapes = [value.shape for value in prompt.extra.values() if hasattr(value, "shape")]
    return max((shape[-2] for shape in shapes if len(shape) >= 3), default=0)


class Queue:
    """What waits, for as many batches as there are replicas, each on a thread of its own."""

    def __init__(self, wanted: Sequence[Wanted], replicas: int) -> None:
        self._lock, self._waiting = threading.Lock(), deque(wanted)
        self._going, self._full = [0] * replicas, [False] * replicas

    def take(self, replica: int, going: Sequence[Wanted], has_room: Callable[[Wanted], bool]) -> Optional[Wanted]:
        """The next one, where no other replica that has room has fewer texts."""
        with self._lock:
            self._going[replica] = sum(each.texts for each in going)
            self._full[replica] = bool(self._waiting) and not has_room(self._waiting[0])
            others = [count for count, full in zip(self._going, self._full) if not full]
            if not self._waiting or self._full[replica] or self._going[replica] > min(others):
                return None
            following = self._waiting.popleft()
            self._going[replica] += following.texts
            return following


class Batch:
    """Prompts begin as soon as there are pages for all that may come of them, so that none has to give way, and no more than
    `most` texts are going. A step has the next token of each of them, and beside these parts of prompts, where the model takes
    prompts in parts."""

    def __init__(self, steps: Steps, most: int, cancellation: Optional[Cancellation]) -> None:
        self._steps, self._most, self._cancellation = steps, most, cancellation

    def run(self, queue: Queue, replica: int = 0) -> Iterator[Piece]:
        """Until nothing waits; the texts that it took."""
        going: list[tuple[Group, Wanted]] = []
        try:
            while True:
                taken = [each for _, each in going]
                while following := queue.take(replica, taken, lambda each: self._has_room(each, taken)):
                    going.append((following.make(self._steps), following))
                    taken.append(following)
                if not going:
                    return
                yield from self._advance([group for group, _ in going])
                going = [each for each in going if each[0].branches]
        finally:
            for group, _ in going:
                group.close()

    def _has_room(self, following: Wanted, going: Sequence[Wanted]) -> bool:
        """One by itself always has: that there are pages for it is known."""
        texts, pages = sum(each.texts for each in going), sum(each.pages for each in going)
        return not going or (texts + following.texts <= self._most and pages + following.pages <= self._steps.pages)

    def _advance(self, groups: Sequence[Group]) -> Iterator[Piece]:
        """One step."""
        items: list[NewTokens] = []
        ready: list[tuple[Group, list[int]]] = []  # with the numbers of its texts among those that want logits
        left, wanted = self._steps.most, 0
        for group in groups:
            numbers = []
            for branch in group.branches:
                item, left = self._item(group, branch, left)
                if item is None:
                    continue
                items.append(item)
                if item.wanted:
                    numbers.append(wanted)
                    wanted += 1
            if numbers:
                ready.append((group, numbers))
        logits = self._steps.run(items, self._cancellation)
        for group, numbers in ready:
            yield from group.take([logits[number] for number in numbers])

    def _item(self, group: Group, branch: Branch, left: int) -> tuple[Optional[NewTokens], int]:
        """What a step has of a text, and how many tokens of prompts it may still have."""
        pending = branch.pending()
        taken = pending
        if len(pending) > 1:
            if left <= 0:
                return None, left
            taken = pending[: min(left, self._steps.of_row)] if self._steps.in_parts else pending
            left -= len(taken)
        return NewTokens(branch.sequence, taken, group.prompt.extra, len(taken) == len(pending)), left
