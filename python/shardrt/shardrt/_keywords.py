"""Keywords that functions hand on to others, for type checkers and editors; a test compares them with what they are of."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, TypedDict, Union

if TYPE_CHECKING:
    from .processes import Processes
    from .texts import Choose, Chooser


class OptionsKeywords(TypedDict, total=False):
    """Fields of Options, by name."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repetition_penalty: float
    presence_penalty: float
    frequency_penalty: float
    logit_bias: Mapping[int, float]
    seed: int
    stream: int
    max_tokens: int
    stop: Sequence[str]
    stop_ids: Sequence[int]
    ignore_eos: bool
    continues: bool
    n: int
    top_logprobs: int
    beams: int
    length_penalty: float


class SessionKeywords(TypedDict, total=False):
    """Arguments of Session behind the artifact, by name."""

    device: Optional[str]
    weights_root: Union[str, os.PathLike[str], None]
    timeout: Optional[float]
    threads: int
    check_replicas: bool
    native_code: bool
    loads_beside: bool
    preflight: bool
    cache_positions: int
    measure: bool
    processes: Optional[Processes]
    progress: Union[Callable[[int, int], None], bool, None]


class SubmitKeywords(TypedDict, total=False):
    """Arguments of Server.submit behind the prompt, by name, without `listener`."""

    max_tokens: int
    choose: Union[Choose, Chooser, None]
    deadline: Optional[float]
    inputs: Optional[Mapping[str, Any]]
