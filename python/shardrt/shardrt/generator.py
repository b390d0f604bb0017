"""Texts by a compiled decoder.

    with shardrt.Generator("model.shard", tokenizer="model/tokenizer.json") as generator:
        print(generator.generate("Once upon a time", max_tokens=50).text)
        for piece in generator.stream("Once upon a time", temperature=0.8, seed=7):
            print(piece.text, end="", flush=True)
"""

from __future__ import annotations

import asyncio
import functools
import os
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Union, cast, overload

from . import _checks, _model_files
from ._batch import Batch, Queue, Wanted, encoded, pages_of, texts_of
from ._beams import Beams
from ._groups import Group, Prompt, Samples, collect
from ._held import Closing
from ._replicas import side_by_side
from ._steps import RequestSteps, RowSteps, Steps
from ._text_inputs import TextInputs, check_stop_ids, given_words
from .cancellation import Cancellation
from .errors import Cancelled, DeadlineExceeded
from .generation import Generation, Options, Piece, options_of
from .sequences import Pool
from .session import Session
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack  # which type checkers have; nothing is needed to run

    from ._keywords import OptionsKeywords, SessionKeywords

PromptLike = Union[str, Sequence[int]]
File = Union[str, "os.PathLike[str]"]
Extra = Optional[Sequence[Mapping[str, Any]]]


class Generator(Closing):
    """Continues texts. Threads may share it.

    Of a decoder that was compiled with --serve all texts are rows of one step; of several replicas (--dp) each has a part of
    them. Of another one they run one after the other for each token: with a state, or, without caches, computing all again. Where
    such a model has fixed sizes and a mask, what is behind a text is hidden, and a text ends where its positions do.

    artifact: the folder that shardc wrote, or an open Session, which stays open.
    tokenizer: tokenizer.json or its folder, or a Tokenizer; None: that in the artifact (--weights copy) or beside the model, if
        there is one. Without one prompts are ids, and texts are empty.
    batch: texts that are going at a time on a replica; further prompts wait for others to end.
    positions: of keys and values at most, of each replica; prompts for which there is no room wait, too. None: as many as a batch
        may need.
    step_tokens: of prompts in one step at most.

    Further arguments are those of Session.

    Which tokens end a text, and how many positions there are, is read of genai_config.json, config.json and
    generation_config.json beside the tokenizer or the model; what there is not, calls say (stop_ids, max_tokens).
    """

    session: Session
    """Whose ranks compute."""
    tokenizer: Optional[Tokenizer]
    """None: prompts are ids, and texts are empty."""
    eos_ids: tuple[int, ...]
    """Tokens that end a text."""
    context: Optional[int]
    """Positions that the model knows; None: not known here."""

    _instead = "make another one of the same Session, or share this one between threads"

    def __init__(
        self,
        artifact: Union[File, Session],
        tokenizer: Union[File, Tokenizer, None] = None,
        *,
        positions: Optional[int] = None,
        batch: int = 64,
        step_tokens: int = 2048,
        **session: Unpack[SessionKeywords],
    ) -> None:
        self._handle: Optional[Session] = None
        self._owns = not isinstance(artifact, Session)
        self._positions, self._most, self._step_tokens = positions, batch, step_tokens
        for name, value in (("batch", batch), ("step_tokens", step_tokens), ("positions", 1 if positions is None else positions)):
            _checks.whole(name, value, _checks.COUNT)
        folder = Path(artifact.artifact if isinstance(artifact, Session) else artifact)
        moved = artifact.weights_root if isinstance(artifact, Session) else session.get("weights_root")
        beside = _model_files.model_folder(folder, moved)
        self.tokenizer = _tokenizer(tokenizer, _model_files.tokenizer_folder(folder, beside))
        if tokenizer is not None and not isinstance(tokenizer, Tokenizer):
            _checks.path("tokenizer", tokenizer)
        given = [] if tokenizer is None or isinstance(tokenizer, Tokenizer) else [Path(tokenizer)]
        folders = [path if path.is_dir() else path.parent for path in given]
        files = _model_files.read([*folders, folder, *([beside] if beside else [])])
        self.eos_ids = files.eos_ids or tuple(self.tokenizer.eos_ids if self.tokenizer else ())
        self.context, self._start_id = files.context, files.start_id
        self._lock, self._idle = threading.Lock(), cast(dict[int, Pool], {})  # by replica
        self.session = artifact if isinstance(artifact, Session) else Session(artifact, **session)
        self._handle = self.session
        try:
            self._inputs = TextInputs(self.session.inputs, files.inputs)
            self._logits = _logits(self.session, files.logits)
            self._inputs.check_sizes(next(info for info in self.session.outputs if info.name == self._logits))
            if self._inputs.length is not None:
                self.context = min(self.context or self._inputs.length, self._inputs.length)
            self._given = given_words(self.session.outputs, self._logits)
        except ValueError:
            self.close()
            raise

    @overload
    def generate(  # type: ignore[overload-overlap]  # a string is no list of prompts
        self,
        prompts: str,
        *,
        inputs: Extra = ...,
        cancellation: Optional[Cancellation] = ...,
        **options: Unpack[OptionsKeywords],
    ) -> Generation: ...
    @overload
    def generate(
        self,
        prompts: Sequence[PromptLike],
        *,
        inputs: Extra = ...,
        cancellation: Optional[Cancellation] = ...,
        **options: Unpack[OptionsKeywords],
    ) -> list[Generation]: ...
    def generate(
        self,
        prompts: Union[str, Sequence[PromptLike]],
        *,
        inputs: Extra = None,
        cancellation: Optional[Cancellation] = None,
        **options: Unpack[OptionsKeywords],
    ) -> Union[Generation, list[Generation]]:
        """Whole texts: of a string one, of a list of strings (or of lists of ids) a list, `n` for each prompt.

        options: fields of Options: max_tokens, temperature, top_p, seed, stop, n, beams, ...
        inputs: what the model takes of each prompt beside its tokens, such as encoder_hidden_states.
        cancellation: who may end it from another thread, with Cancelled.

        All prompts are in one batch; what a prompt gets does not depend on the others.
        """
        asked = options_of(options)
        if isinstance(prompts, str) and asked.n > 1:
            raise ValueError("n texts are a list: give the prompt in a list as well")
        made = self._prompts(prompts, inputs, asked)
        groups: list[Beams] = []
        texts = collect(made, self._run(made, cancellation, groups))
        if asked.beams > 1:
            groups.sort(key=lambda group: group.prompt.number)
            texts = [text for group in groups for text in group.results()]
        return texts[0] if isinstance(prompts, str) else texts

    def stream(
        self,
        prompts: Union[str, Sequence[PromptLike]],
        *,
        inputs: Extra = None,
        cancellation: Optional[Cancellation] = None,
        **options: Unpack[OptionsKeywords],
    ) -> Iterator[Piece]:
        """The same token by token, as they come; who stops listening ends it."""
        asked = options_of(options)
        if asked.beams > 1:
            raise ValueError("beams are known at their end: use generate")
        return self._run(self._prompts(prompts, inputs, asked), cancellation, [])

    @overload
    async def generate_async(  # type: ignore[overload-overlap]
        self, prompts: str, *, inputs: Extra = ..., **options: Unpack[OptionsKeywords]
    ) -> Generation: ...
    @overload
    async def generate_async(
        self, prompts: Sequence[PromptLike], *, inputs: Extra = ..., **options: Unpack[OptionsKeywords]
    ) -> list[Generation]: ...
    async def generate_async(
        self, prompts: Union[str, Sequence[PromptLike]], *, inputs: Extra = None, **options: Unpack[OptionsKeywords]
    ) -> Union[Generation, list[Generation]]:
        """As generate, on a thread beside the event loop. If the task is cancelled, so is the step that runs."""
        cancellation = Cancellation()
        try:
            return await asyncio.to_thread(
                lambda: self.generate(cast(Any, prompts), inputs=inputs, cancellation=cancellation, **options)
            )
        except asyncio.CancelledError:
            cancellation.cancel()
            raise

    async def stream_async(
        self, prompts: Union[str, Sequence[PromptLike]], *, inputs: Extra = None, **options: Unpack[OptionsKeywords]
    ) -> AsyncIterator[Piece]:
        """As stream, with steps on a thread beside the event loop; ends with its task, too."""
        cancellation = Cancellation()
        pieces = self.stream(prompts, inputs=inputs, cancellation=cancellation, **options)
        loop = asyncio.get_running_loop()
        try:
            while True:
                step = loop.run_in_executor(None, next, pieces, None)
                try:
                    piece = await asyncio.shield(step)
                except asyncio.CancelledError:
                    cancellation.cancel()
                    await asyncio.wait([step])  # nobody may end what still runs
                    step.exception()
                    raise
                if piece is None:
                    return
                yield piece
        finally:
            cast(Any, pieces).close()

    def chat(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        tools: Optional[Sequence[Any]] = None,
        variables: Optional[Mapping[str, Any]] = None,
        inputs: Extra = None,
        cancellation: Optional[Cancellation] = None,
        **options: Unpack[OptionsKeywords],
    ) -> Generation:
        """The answer in a conversation.

            generator.chat([{"role": "user", "content": "Hello"}], max_tokens=50).text

        tools: that the model may call, as its chat template takes them.
        variables: further ones of the chat template, {"enable_thinking": False} say.
        inputs: of one prompt, and cancellation and options as for generate.
        """
        if self.tokenizer is None:
            raise ValueError("a chat needs a tokenizer: give tokenizer=")
        options.setdefault("continues", False)
        prompt = self.tokenizer.chat(messages, tools, **(variables or {}))
        return self.generate([prompt], inputs=inputs, cancellation=cancellation, **options)[0]

    def close(self) -> None:
        """Gives all back; a Session that was given stays open."""
        session, self._handle = self._handle, None
        if session is None:
            return
        with self._lock:
            pools, self._idle = self._idle, {}
        for pool in pools.values():
            pool.close()
        if self._owns:
            session.close()

    def __repr__(self) -> str:
        if self._handle is None:
            return "<shardrt.Generator, closed>"
        session, tokenizer = self.session, self.tokenizer
        ends = f", ends with {', '.join(map(str, self.eos_ids))}" if self.eos_ids else ""
        return (f"<shardrt.Generator {session.artifact!r}, {session.world_size} rank{'s' if session.world_size != 1 else ''}, "
                f"{f'{tokenizer.size} tokens' if tokenizer else 'no tokenizer'}{ends}>")  # fmt: skip

    def _prompts(self, prompts: Union[str, Sequence[PromptLike]], inputs: Extra, options: Options) -> list[Prompt]:
        """Checked, with all that belongs to each."""
        if self._handle is None:
            raise ValueError("the generator is closed")
        if isinstance(prompts, bytes) or not isinstance(prompts, Iterable):
            raise TypeError(f"prompts are {_checks.shown(prompts)}, expected a text, or a list of texts or of lists of ids")
        given = [prompts] if isinstance(prompts, str) else list(prompts)
        if given and isinstance(given[0], Integral):
            raise ValueError("a prompt of ids is in a list as well: [[1, 2, 3]]")
        _checks.given("inputs", inputs, Sequence)
        if inputs is not None and len(inputs) != len(given):
            raise ValueError(f"inputs are for {len(inputs)} prompts, expected {len(given)}")
        if options.stop and self.tokenizer is None:
            raise ValueError("stop strings need a tokenizer: give tokenizer=, or stop_ids")
        check_stop_ids("stop_ids", options.stop_ids, self._given)
        ends = frozenset(options.stop_ids) | (frozenset() if options.ignore_eos else frozenset(self.eos_ids))
        found = []
        for number, prompt in enumerate(given):
            extra = inputs[number] if inputs is not None else {}
            self._inputs.check(extra)
            ids = self._ids(prompt)
            room = self._room(len(ids), options.max_tokens)
            limited = Options(**{**vars(options), "max_tokens": room})
            found.append(Prompt(number, ids, extra, limited, ends, self.tokenizer))
        return found

    def _ids(self, prompt: PromptLike) -> list[int]:
        if isinstance(prompt, str):
            if self.tokenizer is None:
                raise ValueError("a prompt of text needs a tokenizer: give tokenizer=, or a list of ids")
            ids = self.tokenizer.encode(prompt)
        else:
            ids = _checks.ids("a prompt", prompt, self._inputs.words)
        if not ids and self._start_id is not None:
            ids = [self._start_id]
        if not ids:
            raise ValueError("a prompt has no tokens: a text begins with one at least")
        return ids

    def _room(self, length: int, wanted: int) -> int:
        """Tokens that may follow a prompt. (The last one is not fed, and takes no position.)"""
        if self.context is None:
            return wanted
        if length > self.context:
            raise ValueError(f"a prompt has {length} tokens, and the model knows {self.context} positions: shorten it")
        return min(wanted, self.context - length + 1)

    def _run(self, prompts: Sequence[Prompt], cancellation: Optional[Cancellation], beams: list[Beams]) -> Iterator[Piece]:
        """Pieces of all; groups of beams, when they are done, are in `beams`."""
        _checks.given("cancellation", cancellation, Cancellation)

        def make(prompt: Prompt, steps: Steps) -> Group:
            if prompt.options.beams == 1:
                return Samples(prompt, steps)
            beams.append(Beams(prompt, steps))
            return beams[-1]

        if not prompts:
            return
        page = self.session.page or 1
        wanted = [(prompt, texts_of(prompt), pages_of(prompt, page)) for prompt in prompts]
        needed = sorted((pages for *_, pages in wanted), reverse=True)
        replicas = min(self.session.num_replicas, len(prompts))
        each = min(self._most, -(-len(prompts) // replicas))
        # An encoder's prompt comes whole: what it saw goes with the first row.
        in_parts = not any(encoded(prompt) for prompt in prompts)
        queue = Queue([Wanted(functools.partial(make, prompt), texts, pages) for prompt, texts, pages in wanted], replicas)

        def run(replica: int) -> Iterator[Piece]:
            steps, failed = self._begin(replica, needed[0], sum(needed[:each]), in_parts), False
            try:
                yield from Batch(steps, self._most, cancellation).run(queue, replica)
            except (Cancelled, DeadlineExceeded):
                raise
            except Exception:
                failed = True
                raise
            finally:
                self._end(steps, replica, failed)

        yield from side_by_side([functools.partial(run, replica) for replica in range(replicas)])

    def _begin(self, replica: int, least: int, most: int, in_parts: bool) -> Steps:
        """With room for a prompt at least, better for all."""
        session = self.session
        page = session.page or 1
        pages = most if self._positions is None else self._positions // page
        if least > pages:
            raise ValueError(f"a prompt and its texts may take {least} pages of {page} positions, and there are {pages}: "
                             "give the generator more positions, or ask for fewer tokens, texts or beams")  # fmt: skip
        if session.page == 0:
            return RequestSteps(session, self._inputs, self._logits, positions=pages)
        pool = self._take_pool(replica, pages)
        in_parts = in_parts and session.is_causal
        return RowSteps(pool, self._inputs, self._logits, most=self._step_tokens, in_parts=in_parts)

    def _take_pool(self, replica: int, pages: int) -> Pool:
        """The one that is there, if it is large enough."""
        if self._positions is None:
            pages = 1 << max(0, pages - 1).bit_length()  # few sizes, since the runtime plans for each
        with self._lock:
            pool = self._idle.pop(replica, None)
        if pool is not None and pool.pages >= pages:
            if pool.is_lost:
                pool.renew()
            return pool
        if pool is not None:
            pool.close()
        # Without a number of the caller's there may be more than is taken: texts end early.
        return Pool(self.session, pages * self.session.page, replica, may_overfill=self._positions is None)

    def _end(self, steps: Steps, replica: int, failed: bool) -> None:
        """Keeps its pool for the next, unless it failed: there may be no memory for it."""
        with self._lock:
            if not failed and isinstance(steps, RowSteps) and self._handle is not None and replica not in self._idle:
                self._idle[replica] = steps.pool
                return
        steps.close()


def _tokenizer(given: Union[File, Tokenizer, None], found: Optional[Path]) -> Optional[Tokenizer]:
    if given is None:
        return None if found is None else Tokenizer.from_file(found)
    return given if isinstance(given, Tokenizer) else Tokenizer.from_file(given)


def _logits(session: Session, given: Optional[str]) -> str:
    """Which output they are."""
    names = [info.name for info in session.outputs if not info.is_cache]
    for name in (given or "logits", "logits"):
        if name in names:
            return name
    if len(names) != 1:
        raise ValueError(f"which output are the logits? expected one named logits, found {', '.join(names) or 'none'}")
    return names[0]
