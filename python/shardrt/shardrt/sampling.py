"""How the next token is chosen from its logits: functions of NumPy arrays, which know nothing of a model.

    sampling = Sampling(temperature=0.8, top_p=0.95, seed=7)
    token, logprob = sampling.choose(logits, history=ids, position=len(ids))

What is drawn is a function of the seed, of the token's position in its text and of the logits: neither of the plan that the
model was compiled with, nor of other texts in the step. Each token gets a number of its own of a counter-based generator
(Philox 4x32-10), as Gumbel noise on its score, and the largest sum wins. That is a draw by probability, and logits that
differ by rounding alone draw another token as seldom as any method can have it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _checks
from ._philox import uniforms
from .errors import InvalidArgument

Scores = np.ndarray[Any, np.dtype[np.float64]]
Ids = np.ndarray[Any, np.dtype[np.int64]]

_HEAD = 1024  # tokens that are sorted at first where top_p may need no more


@dataclass(frozen=True)
class Sampling:
    """What is done to logits, in this order: bias, penalties, temperature, top_k, top_p, min_p, draw."""

    temperature: float = 0.0
    """0: the likeliest token, always ("greedy")."""
    top_k: int = 0
    """Only so many of the likeliest; 0: all."""
    top_p: float = 1.0
    """Only the likeliest that together have this probability."""
    min_p: float = 0.0
    """Only those that are at least so likely in comparison with the likeliest."""
    repetition_penalty: float = 1.0
    """What the text has so far, prompt included, has its logit divided by this if it is positive, and multiplied if not."""
    presence_penalty: float = 0.0
    """Taken off the logits of what has been generated."""
    frequency_penalty: float = 0.0
    """The same, as often as it has been."""
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    """Added to the logits of tokens, by id."""
    seed: int = 0
    """Taken modulo 2**64."""
    stream: int = 0
    """Which of several texts of one seed and prompt."""

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty"):
            _checks.number(name, getattr(self, name))
        _checks.whole("top_k", self.top_k)
        _checks.whole("seed", self.seed, _checks.Range(-math.inf, math.inf))
        _checks.whole("stream", self.stream)
        _check_biases(self.logit_bias)
        _expect("temperature", self.temperature, "0 or more", self.temperature >= 0)
        _expect("top_p", self.top_p, "more than 0 and at most 1", 0 < self.top_p <= 1)
        _expect("min_p", self.min_p, "0 to 1", 0 <= self.min_p <= 1)
        _expect("repetition_penalty", self.repetition_penalty, "more than 0", self.repetition_penalty > 0)

    def adjusted(self, logits: Scores, history: Sequence[int], prompt: int = 0) -> Scores:
        """Logits [words] with bias and penalties, as a copy [words]. The first `prompt` tokens of the history were given."""
        scores = np.array(logits, np.float64).reshape(-1)
        for token, bias in self.logit_bias.items():
            if not 0 <= token < scores.size:
                raise ValueError(f"logit_bias is for token {token}, expected 0 to {scores.size - 1}")
            scores[token] += bias
        if self.repetition_penalty != 1 and len(history):
            seen = _known(np.unique(np.asarray(history, np.int64)), scores)
            scores[seen] = np.where(scores[seen] > 0, scores[seen] / self.repetition_penalty,
                                    scores[seen] * self.repetition_penalty)  # fmt: skip
        if (self.presence_penalty or self.frequency_penalty) and len(history) > prompt:
            seen, counts = np.unique(_known(np.asarray(history[prompt:], np.int64), scores), return_counts=True)
            scores[seen] -= self.presence_penalty + self.frequency_penalty * counts
        return scores

    def candidates(self, scaled: Scores) -> Ids:
        """Which tokens may be drawn: ids [tokens], of scores [words] over temperature."""
        kept = np.flatnonzero(scaled > -np.inf)
        if 0 < self.top_k < kept.size:
            least = np.partition(scaled[kept], -self.top_k)[-self.top_k]
            kept = kept[scaled[kept] >= least]
        if self.top_p < 1:
            kept = _nucleus(scaled, kept, self.top_p)
        if self.min_p > 0:
            kept = kept[scaled[kept] >= scaled[kept].max() + math.log(self.min_p)]
        return kept

    def choose(self, logits: Any, history: Sequence[int], position: int, prompt: int = 0) -> tuple[int, float]:
        """The token at a position, of the logits [words] for it (of any float type), and the logarithm of the probability that
        the model gives it: before bias, penalties and temperature.

        history: ids so far, of which the first `prompt` were given.
        position: of the new token, from 0, in its text.
        """
        values = np.asarray(logits).astype(np.float64).reshape(-1)
        scores = self.adjusted(values, history, prompt)
        best = scores.max()
        if not np.isfinite(best):  # NaN as well
            raise ValueError(f"the largest logit is {best}, expected a finite number")
        if self.temperature == 0:
            token = int(scores.argmax())
        else:
            with np.errstate(over="ignore"):
                scaled = (scores - best) / self.temperature
            kept = self.candidates(scaled)
            drawn = uniforms(self.seed & (2**64 - 1), position, self.stream, kept)
            token = int(kept[(scaled[kept] - np.log(-np.log(drawn))).argmax()])
        return token, float(values[token] - _log_sum(values))


def log_probabilities(logits: Any) -> Scores:
    """Of all tokens."""
    values = np.asarray(logits).astype(np.float64).reshape(-1)
    found: Scores = values - _log_sum(values)
    return found


def likeliest(logprobs: Scores, count: int) -> list[tuple[int, float]]:
    """The first `count` tokens by log-probability; of equal ones the lower id comes first."""
    count = min(count, logprobs.size)
    if count <= 0:
        return []
    least = np.partition(logprobs, -count)[-count]
    found = np.flatnonzero(logprobs >= least)
    found = found[np.argsort(-logprobs[found], kind="stable")][:count]
    return [(int(token), float(logprobs[token])) for token in found]


def _expect(name: str, value: float, expected: str, fits: bool) -> None:
    if not fits:
        raise InvalidArgument(f"{name} is {value}, expected {expected}")


def _check_biases(biases: Any) -> None:
    if not isinstance(biases, Mapping):
        raise TypeError(f"logit_bias is {_checks.shown(biases)}, expected numbers by id: {{5: -100.0}}")
    for token, bias in biases.items():
        _checks.whole("a token of logit_bias", token)
        if bias != -math.inf:  # never that one
            _checks.number(f"the bias of token {token}", bias)


def _known(ids: Ids, scores: Scores) -> Ids:
    """Those that have a score: a model may take tokens that it never gives."""
    return ids[ids < scores.size]


def _log_sum(values: Scores) -> float:
    best = values.max()
    return float(best + np.log(np.exp(values - best).sum()))


def _nucleus(scaled: Scores, kept: Ids, share: float) -> Ids:
    """The likeliest that together have `share` of the probability of those that are kept, at least one."""
    total = _log_sum(scaled[kept])
    for head in (_HEAD, kept.size):
        some = kept
        if head < kept.size:
            some = kept[scaled[kept] >= np.partition(scaled[kept], -head)[-head]]
        ordered = some[np.argsort(-scaled[some], kind="stable")]
        before = np.concatenate([[0.0], np.cumsum(np.exp(scaled[ordered] - total))[:-1]])
        count = int((before < share).sum())
        if count < ordered.size or some.size == kept.size:
            break
    found: Ids = np.sort(ordered[:count])
    return found
