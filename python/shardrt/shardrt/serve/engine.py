"""The model behind the server, and what is known of it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np

from .. import _model_files
from .._text_inputs import TextInputs, given_words
from .._types import dtype_of
from ..server import Reopen, Server
from ..session import Session
from ..tokenizer import Tokenizer
from .plan import plan_of
from .problems import invalid
from .whole import Requests

File = Union[str, "os.PathLike[str]"]


class Engine:
    """A decoder that was compiled with --serve, on a Server of its own; or any other model, whose requests run as they are.

    name: how requests name the model; None: the artifact's folder without its suffix.
    most_tokens: of a request to a model that generates no text, whose texts are filled up to the longest.
    most_length: tokens of such a text, where nothing beside the model says how many positions it knows.
    tokenizer: tokenizer.json or its folder; None: that in the artifact or beside the model, if there is one. Without one prompts are ids.
    Further arguments are those of Server, if it is one.
    """

    def __init__(self, session: Session, *, name: Optional[str] = None, tokenizer: Optional[File] = None,
                 reopen: Optional[Reopen] = None, most_waiting: int = 1024, most_tokens: int = 16384,
                 most_length: int = 2048, **server: Any) -> None:  # fmt: skip
        folder = Path(session.artifact)
        self.session, self.name = session, name or folder.resolve().stem
        self.created, self.started = int(folder.stat().st_mtime), time.monotonic()
        self.manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        beside = _model_files.model_folder(folder, session.weights_root)
        given = Path(tokenizer) if tokenizer is not None else _model_files.tokenizer_folder(folder, beside)
        self.tokenizer = Tokenizer.from_file(given) if given is not None else None
        folders = [path if path.is_dir() else path.parent for path in (given, folder, beside) if path is not None]
        files = _model_files.read(folders)
        self.eos_ids = frozenset(files.eos_ids or (self.tokenizer.eos_ids if self.tokenizer else ()))
        self._longest = self.tokenizer.longest if self.tokenizer else 1
        self.others: tuple[str, ...] = ()
        """What a text has beside its tokens: what an encoder gave."""
        self.start_id = files.start_id
        self.given_words: Optional[int] = None
        """Tokens that a decoder may give."""
        self.server: Optional[Server] = None
        self.requests: Optional[Requests] = None
        if session.page:
            texts = TextInputs(session.inputs, files.inputs)
            self.others, self._words = texts.others, texts.words
            self.given_words = given_words(session.outputs, files.logits)
            self.server = Server(session, logits=files.logits, keeps_texts=False, reopen=reopen, most_waiting=most_waiting, **server)
        else:
            self._words = next((info.num_rows for info in session.inputs if info.name == "input_ids"), None)
            self.requests = Requests(session, most_waiting, reopen)
        counts = self.server.counts() if self.server is not None else None
        positions = counts.pages // session.num_replicas * session.page if counts is not None else None
        self.plan = plan_of(self.manifest, session._needs_of_ranks(), positions)
        """Who talks to whom, and what ranks hold, as the page shows it."""
        self.context, self._most_tokens, self._most_length = files.context, most_tokens, most_length

    @property
    def room(self) -> int:
        """Positions that a text may take."""
        if self.server is None:
            return self.context or self._most_length
        positions = self.server.counts().pages // self.session.num_replicas * self.session.page
        return positions if self.context is None else min(positions, self.context)

    def check_ids(self, ids: Any, param: str) -> None:
        """Whether the model knows all of them; a rank would fail, or take another."""
        least, largest = (int(of(ids)) for of in (np.min, np.max))
        if least < 0 or (self._words is not None and largest >= self._words):
            known = f"0 to {self._words - 1}" if self._words is not None else "ids from 0"
            raise invalid(f"there is no token {least if least < 0 else largest}: expected {known}", param)

    def check_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Whether they are what a text has beside its tokens."""
        other = next((name for name in inputs if name not in self.others), None)
        missing = next((name for name in self.others if name not in inputs), None)
        if other is not None:
            raise invalid(f"input '{other}' is none that a text has beside its tokens: {', '.join(self.others) or 'there is none'}", "inputs")
        if missing is not None:
            raise invalid(f"the model takes {missing} of each text: give it in inputs", "inputs")
        for info in self.session.inputs:
            if info.name in inputs and inputs[info.name].dtype != dtype_of(info.dtype, info.name):
                raise invalid(f"input '{info.name}' is {inputs[info.name].dtype}, expected {info.dtype}", "inputs")

    def check_tokens(self, texts: int, longest: int, param: str) -> None:
        """Of a request to a model that generates no text: it computes all at once, and attention is of their square."""
        if longest > self.room:
            raise invalid(f"a text has {longest} tokens, expected {self.room} at most", param)
        if texts * longest > self._most_tokens:
            raise invalid(f"{texts} texts of {longest} tokens, the longest, are {texts * longest}, expected {self._most_tokens} at most: "
                          "ask for fewer at once", param)  # fmt: skip

    @property
    def unavailable(self) -> Optional[str]:
        """Why nothing runs, if so."""
        if self.server is not None:
            return self.server.check()
        assert self.requests is not None
        return self.requests.lost

    def ranks_up(self, why: Optional[str]) -> int:
        """Ranks that compute, while `why` is what is unavailable: each step is one of all."""
        return self.session.world_size if why is None else 0

    @property
    def is_over(self) -> bool:
        """Nothing will run any more, in this process."""
        found = self.server if self.server is not None else self.requests
        return found is not None and found.is_over

    def ids(self, prompt: Union[str, Sequence[int]], *, special: bool = True) -> list[int]:
        if not isinstance(prompt, str):
            return list(prompt)
        if len(prompt) > self.room * self._longest:  # it takes long to make tokens of it
            raise ValueError(f"the prompt has {len(prompt)} characters: the model has room for {self.room} tokens")
        if self.tokenizer is None:
            raise ValueError("the server has no tokenizer: give prompts as lists of ids, or start it with --tokenizer")
        return self.tokenizer.encode(prompt, special=special)

    def mesh(self) -> dict[str, int]:
        """Axes of more than one rank."""
        axes = self.manifest.get("mesh", [])
        return {axis["name"]: axis["size"] for axis in axes if axis["size"] > 1}

    def status(self) -> dict[str, Any]:
        """What the page shows."""
        session, why = self.session, self.unavailable
        found: dict[str, Any] = {
            "model": self.name, "mesh": self.mesh(), "world_size": session.world_size, "stages": session.num_stages,
            "replicas": session.num_replicas, "page": session.page, "tolerance": session.tolerance, "unavailable": why,
            "seconds": time.monotonic() - self.started, "memory": resident_bytes(), "tokenizer": self.tokenizer is not None,
            "chat": self.tokenizer is not None and self.tokenizer.chat_template is not None,
            "inputs": [str(info) for info in session.inputs if not info.is_cache and not info.name.startswith("rows.")],
            "outputs": [str(info) for info in session.outputs if not info.is_cache],
            "ranks_up": self.ranks_up(why),
        }  # fmt: skip
        if self.server is not None:
            found["counts"] = vars(self.server.counts())
        return found

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
        if self.requests is not None:
            self.requests.close()


def resident_bytes() -> int:
    """Of this process."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
