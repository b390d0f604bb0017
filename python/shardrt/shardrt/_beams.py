"""Beam search: at each position the likeliest continuations of the likeliest texts.

A text that ends is set aside with its score, the sum of its tokens' log-probabilities over its length to a power. The
search is over when as many are set aside as there are beams, and no beam has a better score as it is; what is still
going when there is no room for more tokens is set aside as well. Penalties and biases act on logits before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence as Items
from dataclasses import dataclass

from ._groups import Branch, Group, Prompt
from ._steps import Kept, Steps
from ._tensors import Array
from .generation import Generation, Piece
from .sampling import likeliest, log_probabilities


class _Beam(Branch):
    def __init__(self, sequence: Kept, ids: list[int], logprobs: list[float], total: float) -> None:
        super().__init__(sequence, ids)
        self.logprobs, self.total = logprobs, total


@dataclass(frozen=True)
class _Next:
    """A continuation: by what, of which beam; `own` is the model's log-probability, `total` that of all, adjusted."""

    total: float
    beam: int
    token: int
    own: float


class Beams(Group):
    def __init__(self, prompt: Prompt, steps: Steps) -> None:
        super().__init__(prompt, steps)
        first = self.branches[0]
        self._beams = [_Beam(first.sequence, first.ids, [], 0.0)]
        self.branches = list(self._beams)
        self._done: list[Generation] = []

    def take(self, logits: Items[Array]) -> Iterator[Piece]:
        count, going = self.prompt.options.beams, []
        for place, each in enumerate(self._continuations(logits, 2 * count)):
            if each.token not in self.prompt.ends:
                going.append(each)
            elif place < count:
                self._set_aside(self._beams[each.beam], each, "stop")
            if len(going) == count:
                break
        if len(self._beams[0].logprobs) + 1 >= self.prompt.options.max_tokens:
            for each in going:
                self._set_aside(self._beams[each.beam], each, "length")
            going = []
        elif going and len(self._done) == count and self._score(going[0]) <= self._done[-1].score:
            going = []
        self._go_on(going)
        return iter(())

    def results(self) -> list[Generation]:
        """The best, n of them."""
        best = self._done[: self.prompt.options.n]
        for index, text in enumerate(best):
            text.index = index
        return best

    def _continuations(self, logits: Items[Array], count: int) -> list[_Next]:
        """The likeliest of all, best first."""
        options, known, found = self.prompt.options, len(self.prompt.ids), []
        for number, (beam, each) in enumerate(zip(self._beams, logits)):
            own = log_probabilities(each)
            for token, logprob in likeliest(log_probabilities(options.adjusted(own, beam.ids, known)), count):
                found.append(_Next(beam.total + logprob, number, token, float(own[token])))
        return sorted(found, key=lambda each: -each.total)[:count]

    def _score(self, each: _Next) -> float:
        return float(each.total / (len(self._beams[each.beam].logprobs) + 1) ** self.prompt.options.length_penalty)

    def _set_aside(self, beam: _Beam, last: _Next, reason: str) -> None:
        prompt = self.prompt
        ids = beam.ids[len(prompt.ids) :] + [last.token]
        shown = ids[:-1] if reason == "stop" else ids
        stream = prompt.stream()
        text = "".join(map(stream.push, shown)) + stream.finish() if stream else ""
        self._done.append(Generation(prompt.number, 0, list(prompt.ids), text, ids, [*beam.logprobs, last.own],
                                     finish_reason=reason, score=self._score(last)))  # fmt: skip
        self._done.sort(key=lambda done: -done.score)
        del self._done[prompt.options.beams :]

    def _go_on(self, going: Items[_Next]) -> None:
        """Each continuation gets a sequence: its beam's, or a fork of that where it has several."""
        old, used, beams = self._beams, set(), []
        for each in going:
            beam = old[each.beam]
            sequence = beam.sequence.fork() if each.beam in used else beam.sequence
            used.add(each.beam)
            beams.append(_Beam(sequence, [*beam.ids, each.token], [*beam.logprobs, each.own], each.total))
        for number, beam in enumerate(old):
            if number not in used:
                beam.sequence.close()
        self._beams = beams
        self.branches = list(beams)
