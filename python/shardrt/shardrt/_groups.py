"""Texts of one prompt: their sequences, and what comes of the logits of a step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence as Items
from dataclasses import dataclass, replace
from typing import Any, Optional

from ._steps import Kept, Steps
from ._tensors import Array
from .generation import Generation, Options, Piece
from .sampling import likeliest, log_probabilities
from .stopping import StopStrings
from .tokenizer import TextStream, Tokenizer


@dataclass(frozen=True)
class Prompt:
    """What is to be continued."""

    number: int
    ids: Items[int]
    extra: Mapping[str, Any]
    options: Options
    ends: frozenset[int]
    """Tokens that end a text."""
    tokenizer: Optional[Tokenizer]

    def stream(self) -> Optional[TextStream]:
        """Of a text of it."""
        return self.tokenizer.stream(after=self.ids if self.options.continues else ()) if self.tokenizer else None


class Branch:
    """A text so far. Of its ids the sequence has all but those that a step has yet to take."""

    def __init__(self, sequence: Kept, ids: list[int]) -> None:
        self.sequence, self.ids = sequence, ids

    def pending(self) -> list[int]:
        return self.ids[len(self.sequence) :]


class Group:
    """Texts of one prompt. They begin as one, whose logits behind the prompt are there for all."""

    def __init__(self, prompt: Prompt, steps: Steps) -> None:
        self.prompt = prompt
        self.branches = [Branch(steps.begin(len(prompt.ids) + prompt.options.max_tokens), list(prompt.ids))]

    def take(self, logits: Items[Array]) -> Iterator[Piece]:
        """What comes of the logits for each branch; those that end leave."""
        raise NotImplementedError

    def close(self) -> None:
        for branch in self.branches:
            branch.sequence.close()
        self.branches = []


class _Text(Branch):
    """One that is drawn, or the likeliest at each position."""

    def __init__(self, branch: Branch, prompt: Prompt, index: int) -> None:
        super().__init__(branch.sequence, list(branch.ids))
        self._prompt, self._index = prompt, index
        self._sampling = replace(prompt.options, stream=prompt.options.stream + index)
        self._stream = prompt.stream()
        self._stops = StopStrings(prompt.options.stop)

    def take(self, logits: Array) -> Piece:
        options, known = self._prompt.options, len(self._prompt.ids)
        token, logprob = self._sampling.choose(logits, self.ids, len(self.ids), known)
        self.ids.append(token)
        ends = token in self._prompt.ends
        text = self._stream.push(token) if self._stream and not ends else ""
        full = len(self.ids) - known >= options.max_tokens
        if self._stream and (ends or full):
            text += self._stream.finish()
        text = self._stops.push(text)
        if (ends or full) and self._stops.found is None:
            text += self._stops.finish()
        reason = "stop" if ends or self._stops.found is not None else "length" if full else ""
        top = tuple(likeliest(log_probabilities(logits), options.top_logprobs)) if options.top_logprobs else ()
        return Piece(self._prompt.number, self._index, text, token, logprob, top, reason)


class Samples(Group):
    """n texts, each of a stream of its own."""

    def __init__(self, prompt: Prompt, steps: Steps) -> None:
        super().__init__(prompt, steps)
        self._texts: list[_Text] = []

    def take(self, logits: Items[Array]) -> Iterator[Piece]:
        if not self._texts:
            first = self.branches[0]
            others = [Branch(first.sequence.fork(), first.ids) for _ in range(1, self.prompt.options.n)]
            self.branches = [first, *others]
            self._texts = [_Text(branch, self.prompt, i) for i, branch in enumerate(self.branches)]
            logits = [logits[0]] * len(self._texts)
        going: list[_Text] = []
        for text, each in zip(self._texts, logits):
            piece = text.take(each)
            if piece.finish_reason:
                text.sequence.close()
            else:
                going.append(text)
            yield piece
        self._texts = going
        self.branches = list(going)


def collect(prompts: Items[Prompt], pieces: Iterator[Piece]) -> list[Generation]:
    """Pieces as whole texts, prompt after prompt."""
    found = [[Generation(prompt.number, i, list(prompt.ids)) for i in range(prompt.options.n)] for prompt in prompts]
    for piece in pieces:
        text = found[piece.prompt][piece.index]
        text.text += piece.text
        text.ids.append(piece.id)
        text.logprobs.append(piece.logprob)
        if prompts[piece.prompt].options.top_logprobs:
            text.top_logprobs.append(piece.top_logprobs)
        text.finish_reason = piece.finish_reason
    return [text for texts in found for text in texts]
