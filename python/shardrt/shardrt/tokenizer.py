"""Text to tokens and back, by tokenizer.json of Hugging Face (packages tokenizers and, for chats, jinja2).

    tokenizer = Tokenizer.from_file("model/tokenizer.json")     # or the folder
    ids = tokenizer.encode("Once upon a time")
    ids = tokenizer.chat([{"role": "user", "content": "Hello"}])

    stream = tokenizer.stream()
    for token in tokens:
        print(stream.push(token), end="")       # whole characters alone
    print(stream.finish())
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, Union

from . import _checks
from ._extras import need
from ._json_files import read_object
from ._token_bytes import bytes_of, kinds_of

__all__ = ["TextStream", "Tokenizer"]

_BROKEN = "\N{REPLACEMENT CHARACTER}"  # how tokenizers decodes what is no character, or not yet one
_MOST_BEFORE = 16  # tokens of what is before a stream that it looks at
_MOST_HELD = 64  # tokens of a stream that may wait for the end of a character


class Tokenizer:
    """Threads may share it."""

    bos_token: Optional[str]
    """The token that begins a text, where tokenizer_config.json says so."""
    eos_token: Optional[str]
    """The one that ends it, likewise."""
    chat_template: Optional[str]
    """Of Jinja, if there is one."""
    pad_id: Optional[int]
    """What stands behind the end of a text that is shorter than others."""

    _source = ""  # of the chat template

    def __init__(self, inner: Any, *, config: Optional[Mapping[str, Any]] = None, chat_template: Optional[str] = None) -> None:
        """Of a tokenizers.Tokenizer; `config` is what tokenizer_config.json has."""
        config = config or {}
        self._inner = inner
        padding = inner.padding
        inner.no_padding()  # neither is asked for: ids of a text are those of all of it, and no others
        inner.no_truncation()
        self._kinds = kinds_of(inner.decoder)
        self._added = frozenset(inner.get_added_tokens_decoder())  # as they are written, not as bytes
        self._config = dict(config)
        self._templates = _templates(config.get("chat_template"))
        if chat_template is not None:
            self._templates["default"] = chat_template
        self.chat_template = self._templates.get("default")
        pad_token = _special(config, "pad_token")
        self.pad_id = self.id_of(pad_token) if pad_token is not None else padding and padding["pad_id"]
        self.bos_token, self.eos_token = _special(config, "bos_token"), _special(config, "eos_token")

    @classmethod
    def from_file(cls, path: Union[str, os.PathLike[str]]) -> Tokenizer:
        """Of tokenizer.json, or its folder. tokenizer_config.json and chat_template.jinja beside it are read as well, if
        they are there."""
        inner = need("tokenizers", "generate")
        _checks.path("tokenizer", path)
        file = Path(path)
        if file.is_dir():
            file = file / "tokenizer.json"
        if not file.is_file():
            raise FileNotFoundError(f"no tokenizer at {file}: expected tokenizer.json, as Hugging Face's tokenizers write it")
        try:
            read = inner.Tokenizer.from_file(str(file))
        except Exception as error:  # the package raises nothing narrower
            raise ValueError(f"{file} is no tokenizer: {error}") from None
        beside = file.parent / "tokenizer_config.json"
        config, template = read_object(beside), file.parent / "chat_template.jinja"
        try:
            text = template.read_text(encoding="utf-8") if template.is_file() else None
        except ValueError as error:
            raise ValueError(f"{template} is no text: {error}") from None
        try:
            made = cls(read, config=config, chat_template=text)
        except ValueError as error:
            raise ValueError(f"{beside}: {error}") from None
        made._source = f" ({(template if text is not None else beside).name})"
        return made

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """Ids of a text.

        special: with those that the tokenizer puts around it, such as the one that begins a text.
        """
        if isinstance(text, str):
            text.encode()  # half of a surrogate pair is an error, also where the package takes it
        return list(self._inner.encode(text, add_special_tokens=special).ids)

    def decode(self, ids: Sequence[int], *, special: bool = False) -> str:
        """The text of ids.

        special: with those that stand for no text, such as the one that ends it.
        """
        return str(self._inner.decode(list(ids), skip_special_tokens=not special))

    def stream(self, *, special: bool = False, after: Sequence[int] = ()) -> TextStream:
        """A decoder of ids that come one after the other.

        special: as for decode.
        after: ids before them, whose text is out: a word may begin with the space that is between.
        """
        return TextStream(self, special, after)

    def id_of(self, token: str) -> Optional[int]:
        """Of a token by its text, as "</s>"."""
        found = self._inner.token_to_id(token)
        return None if found is None else int(found)

    def token_of(self, token: int) -> Optional[str]:
        """How the vocabulary has a token, None where it has not so many."""
        found = self._inner.id_to_token(token)
        return None if found is None else str(found)

    def bytes_of(self, token: int, after: Sequence[int] = ()) -> bytes:
        """What a token adds to the text of the ids before it: with the space in front that words have in some vocabularies, of
        one that is a part of a character its own bytes, where tokens are made of these."""
        name = self.token_of(token) if token not in self._added else None
        own = bytes_of(name, self._kinds) if name is not None else None
        return self._text_behind(token, after).encode() if own is None else own

    def _text_behind(self, token: int, after: Sequence[int]) -> str:
        for begin in range(max(0, len(after) - _MOST_BEFORE), len(after)):
            context = list(after[begin:])
            before = self.decode(context, special=True)
            if before and _BROKEN not in before:
                whole = self.decode([*context, token], special=True)
                if whole.startswith(before):
                    return whole[len(before) :]
        return self.decode([token], special=True)

    @property
    def size(self) -> int:
        """Tokens there are, added ones included."""
        return int(self._inner.get_vocab_size())

    @property
    def end(self) -> int:
        """Ids are below it; of some there may be no token."""
        return max(self._inner.get_vocab().values(), default=-1) + 1

    @property
    def longest(self) -> int:
        """Characters of the longest token."""
        return max(map(len, self._inner.get_vocab()), default=0)

    @property
    def eos_ids(self) -> list[int]:
        """The token that ends a text, where tokenizer_config.json says so."""
        found = self.id_of(self.eos_token) if self.eos_token is not None else None
        return [] if found is None else [found]

    def chat(self, messages: Sequence[Mapping[str, Any]], tools: Optional[Sequence[Any]] = None, **variables: Any) -> list[int]:
        """Ids of a conversation, up to where the answer begins. Messages are {"role": ..., "content": ...}; `variables`
        are further ones of the model's chat template."""
        return self.encode(self.chat_text(messages, tools, **variables), special=False)

    def chat_text(self, messages: Sequence[Mapping[str, Any]], tools: Optional[Sequence[Any]] = None, **variables: Any) -> str:
        """The same as text."""
        from ._chat import render

        if isinstance(messages, (str, Mapping)) or not all(isinstance(message, Mapping) for message in messages):
            raise TypeError(f"messages are {_checks.shown(messages)}, expected a list of {{'role': 'user', 'content': ...}}")
        name = "tool_use" if tools and "tool_use" in self._templates else "default"
        template = self._templates.get(name)
        if template is None:
            raise ValueError("the tokenizer has no chat template: expected chat_template.jinja beside tokenizer.json, or "
                             "'chat_template' in tokenizer_config.json")  # fmt: skip
        named = {key: _content(value) for key, value in self._config.items() if key.endswith("_token")}
        known = {key: value for key, value in named.items() if value is not None}
        return render(template, {**known, "add_generation_prompt": True, **variables, "messages": messages, "tools": tools}, self._source)

    def __repr__(self) -> str:
        return f"<shardrt.Tokenizer, {self.size} tokens{', chat' if self.chat_template is not None else ''}>"


class TextStream:
    """Text of ids that come one after the other (Tokenizer.stream). Pieces put together are what decode() gives for all,
    and none ends within a character. (Bytes that are no text are broken characters here and there, but not always as many.)"""

    def __init__(self, tokenizer: Tokenizer, special: bool, after: Sequence[int] = ()) -> None:
        self._tokenizer, self._special = tokenizer, special
        # The last tokens whose text is out, since spaces depend on what is before; those behind them; text of these that is out.
        self._context = self._last(list(after[-_MOST_BEFORE:]))
        self._held: list[int] = []
        self._out = 0

    def _last(self, ids: list[int]) -> list[int]:
        """As many as have a text of whole characters, none where they end within one."""
        for begin in range(len(ids) - 1, -1, -1):
            text = self._tokenizer.decode(ids[begin:], special=self._special)
            if text and _BROKEN not in text:
                return ids[begin:]
        return [] if _BROKEN in self._tokenizer.decode(ids, special=self._special) else ids

    def _text(self) -> str:
        """Of what is held."""
        whole = self._tokenizer.decode(self._context + self._held, special=self._special)
        return whole[len(self._tokenizer.decode(self._context, special=self._special)) :] if self._context else whole

    def push(self, token: int) -> str:
        """What this token makes certain, often its text; "" within a character."""
        self._held.append(token)
        text = self._text()
        certain = text.rstrip(_BROKEN)
        if text and len(certain) == len(text) or len(self._held) >= _MOST_HELD:
            return self._release(text)
        piece, self._out = certain[self._out :], max(self._out, len(certain))
        return piece

    def finish(self) -> str:
        """What is left: a broken character, if anything."""
        return self._release(self._text()) if self._held else ""

    def _release(self, text: str) -> str:
        piece = text[self._out :]
        self._context, self._held, self._out = self._held, [], 0
        return piece


def _content(token: Any) -> Optional[str]:
    """A token in tokenizer_config.json is text, or an object with it."""
    if isinstance(token, Mapping):
        token = token.get("content")
    return token if isinstance(token, str) else None


def _special(config: Mapping[str, Any], name: str) -> Optional[str]:
    found, token = config.get(name), _content(config.get(name))
    if found is not None and token is None:
        raise ValueError(f"{name} is {_checks.shown(found)}, expected a text, or an object with it as 'content'")
    return token


def _templates(given: Any) -> dict[str, str]:
    """By name: one, or a list of objects with name and template."""
    if isinstance(given, str):
        return {"default": given}
    if given is None:
        return {}
    listed = [(each.get("name"), each.get("template")) for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []
    named = {name: text for name, text in listed if isinstance(name, str) and isinstance(text, str)}
    if not isinstance(given, list) or len(named) < len(given):
        raise ValueError(f"chat_template is {_checks.shown(given)}, expected a text, or a list of {{'name': ..., 'template': ...}}")
    return named
