"""Texts of all prompts in one batch of rows: which of them a step has."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from ._groups import Branch, Group, Prompt
from ._tensors import Array
from ._text_inputs import TextInputs
from .generation import Piece
from .sequences import Pool, Row

StepOf = Callable[[Sequence[Row]], Array]
"""Runs rows; logits of the last position of each that wants them, [rows, words]."""


def pages_of(prompt: Prompt, page: int) -> int:
    """That a prompt and its texts may need, and what its encoder gave. A step copies the last page of texts that share it
    for each of them, and it is given back behind the step: of two texts and more there are half as many of these."""
    options = prompt.options
    texts = max(options.n, options.beams)
    each = -(-(len(prompt.ids) + options.max_tokens) // page) + -(-encoded(prompt) // page)
    return texts * each + texts // 2


def encoded(prompt: Prompt) -> int:
    """Positions of what an encoder gave: [1, positions, ...], or keys [1, heads, positions, ...]."""
    shapes = [value.shape for value in prompt.extra.values() if hasattr(value, "shape")]
    return max((shape[-2] for shape in shapes if len(shape) >= 3), default=0)


class Batch:
    """Prompts begin as soon as there are pages for all that may come of them, so that none has to give way. A step has the
    next token of each text that is going, and beside these parts of prompts, where the model takes prompts in parts."""

    def __init__(self, pool: Pool, inputs: TextInputs, step: StepOf, *, in_parts: bool, most: int) -> None:
        self._pool, self._inputs, self._step = pool, inputs, step
        self._in_parts, self._most = in_parts, most

    def run(self, groups: Sequence[Callable[[], Group]], pages: Sequence[int]) -> Iterator[Piece]:
        """groups: made when their turn comes; pages: that each may need."""
        waiting = deque(zip(groups, pages))
        going: list[tuple[Group, int]] = []
        free = self._pool.pages
        try:
            while waiting or going:
                while waiting and waiting[0][1] <= free:
                    make, needed = waiting.popleft()
                    free -= needed
                    going.append((make(), needed))
                yield from self._advance([group for group, _ in going])
                free += sum(needed for group, needed in going if not group.branches)
                going = [each for each in going if each[0].branches]
        finally:
            for group, _ in going:
                group.close()

    def _advance(self, groups: Sequence[Group]) -> Iterator[Piece]:
        """One step."""
        rows: list[Row] = []
        ready: list[tuple[Group, list[int]]] = []  # with the numbers of its rows among those that want logits
        left, wanted = self._most, 0
        for group in groups:
            numbers = []
            for branch in group.branches:
                row, left = self._row(group, branch, left)
                if row is None:
                    continue
                rows.append(row)
                if row.wanted == "last":
                    numbers.append(wanted)
                    wanted += 1
            if numbers:
                ready.append((group, numbers))
        logits = self._step(rows)
        for group, numbers in ready:
            yield from group.take([logits[number] for number in numbers])

    def _row(self, group: Group, branch: Branch, left: int) -> tuple[Row | None, int]:
        """What a step has of a text, and how many tokens of prompts it may still have."""
        pending, past = branch.pending(), len(branch.sequence)
        taken = pending
        if len(pending) > 1:
            if left <= 0:
                return None, left
            taken = pending[:left] if self._in_parts else pending
            left -= len(taken)
        wanted = "last" if len(taken) == len(pending) else "none"
        return Row(branch.sequence, self._inputs.row(taken, past, group.prompt.extra), wanted), left
