"""/v1: completions, chats, embeddings and models, as clients of OpenAI ask for them."""

from __future__ import annotations

import asyncio
import base64
import secrets
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Optional

import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from .._text_inputs import check_stop_ids
from ..encoding import run_texts
from ..texts import Chooser, Token
from .engine import Engine
from .events import Events, event, in_json, unless_gone
from .limits import Limits
from .metrics import Metrics
from .problems import Problem, invalid
from .reads import add_read
from .requests import ChatAsked, CompletionAsked, EmbeddingAsked, Prompts, TextAsked
from .tensors import array_of
from .texts import Piece, Texts, Wanted, Whole
from .token_texts import TokenTexts


class OpenAI:
    def __init__(self, engine: Engine, limits: Limits, metrics: Metrics) -> None:
        self._engine, self._limits, self._metrics = engine, limits, metrics

    def routes(self) -> APIRouter:
        router = APIRouter(prefix="/v1")
        add_read(router, "/models", self.models)
        add_read(router, "/models/{name:path}", self.model)
        router.add_api_route("/completions", self.completions, methods=["POST"], response_model=None)
        router.add_api_route("/chat/completions", self.chat, methods=["POST"], response_model=None)
        router.add_api_route("/embeddings", self.embeddings, methods=["POST"], response_model=None)
        return router

    def _card(self) -> dict[str, Any]:
        engine = self._engine
        card = {"id": engine.name, "object": "model", "created": engine.created, "owned_by": "shardrt"}
        return card if engine.server is None else {**card, "max_model_len": engine.room}

    async def models(self) -> dict[str, Any]:
        return {"object": "list", "data": [self._card()]}

    async def model(self, name: str) -> dict[str, Any]:
        self._check_model(name)
        return self._card()

    async def completions(self, asked: CompletionAsked, request: Request) -> Response:
        self._check_model(asked.model, texts=True)
        prompts = await asyncio.to_thread(self._ids, asked.prompt)
        if asked.echo and asked.logprobs is not None:
            raise invalid("echo with logprobs is not supported", "echo")
        inputs = await asyncio.to_thread(self._inputs, asked, len(prompts))
        wanted = self._wanted(asked, prompts, asked.max_tokens, asked.logprobs is not None, asked.logprobs or 0, inputs)
        echoes = [self._text(ids) if asked.echo else "" for ids in prompts for _ in range(asked.n)]
        answer = _Completion(self._engine, asked, prompts, echoes)
        return await self._answer(asked, wanted, answer, request)

    async def chat(self, asked: ChatAsked, request: Request) -> Response:
        self._check_model(asked.model, texts=True)
        tokenizer = self._engine.tokenizer
        if tokenizer is None or tokenizer.chat_template is None:
            raise invalid("the server has no chat template: start it with --tokenizer, of a model for chats", "messages")
        if asked.top_logprobs and not asked.logprobs:
            raise invalid("top_logprobs needs logprobs: true", "top_logprobs")
        if self._engine.others:
            raise invalid(f"the model takes {', '.join(self._engine.others)} of each text: ask /v1/completions, with inputs", "messages")
        messages = [message.plain() for message in asked.messages]
        ids = await asyncio.to_thread(lambda: tokenizer.chat(messages, **asked.chat_template_kwargs))
        most = asked.max_completion_tokens or asked.max_tokens
        wanted = self._wanted(asked, [ids], most, asked.logprobs, asked.top_logprobs)
        return await self._answer(asked, wanted, _Chat(self._engine, asked, [ids], [""] * asked.n), request)

    async def embeddings(self, asked: EmbeddingAsked, request: Request) -> Response:
        self._check_model(asked.model)
        engine = self._engine
        names = [info.name for info in engine.session.outputs]
        given = next((name for name in ("sentence_embedding", "pooler_output", "last_hidden_state") if name in names), None)
        requests = engine.requests
        if requests is None or given is None:
            raise Problem(404, f"model '{engine.name}' gives no embeddings: it has no output sentence_embedding, pooler_output or "
                               f"last_hidden_state, but {', '.join(names)}", kind="not_found_error")  # fmt: skip
        texts = await asyncio.to_thread(self._ids, asked.input)
        engine.check_tokens(len(texts), max(map(len, texts)), "input")
        pad = engine.tokenizer.pad_id if engine.tokenizer else None
        found = await unless_gone(request, requests.run(lambda: self._embed(texts, given, pad)))
        data = [{"object": "embedding", "index": i, "embedding": _encoded(each, asked.encoding_format)} for i, each in enumerate(found)]
        count = sum(map(len, texts))
        self._metrics.asked(count)
        return JSONResponse({"object": "list", "data": data, "model": engine.name,
                             "usage": {"prompt_tokens": count, "total_tokens": count}})  # fmt: skip

    def _embed(self, texts: Sequence[list[int]], name: str, pad: Optional[int]) -> list[Any]:
        """Hidden states [positions, hidden] become their mean."""
        rows = run_texts(self._engine.session, texts, pad_id=pad)
        return [(row[name].mean(0) if row[name].ndim > 1 else row[name]).astype(np.float32) for row in rows]

    def _check_model(self, name: str, texts: bool = False) -> None:
        if name != self._engine.name:
            raise Problem(404, f"there is no model '{name}', but '{self._engine.name}'", param="model", kind="not_found_error")
        if texts and self._engine.server is None:
            raise invalid(f"model '{name}' generates no text: it was compiled without --serve; ask /v2/models/{name}/infer", "model")

    def _ids(self, given: Prompts) -> list[list[int]]:
        """Of one prompt or several, each of text or ids."""
        one = isinstance(given, str) or (len(given) > 0 and isinstance(given[0], int))
        prompts: list[Any] = [given] if one else list(given)
        if not prompts:
            raise invalid("there is no prompt", "prompt")
        if len(prompts) > self._limits.texts:
            raise invalid(f"{len(prompts)} prompts, expected {self._limits.texts} at most", "prompt")
        found = [self._engine.ids(prompt) for prompt in prompts]
        if self._engine.others and self._engine.start_id is not None:
            found = [ids or [self._engine.start_id] for ids in found]
        if not all(found):
            raise invalid("a prompt has no tokens: a text begins with one at least", "prompt")
        for ids in found:
            self._engine.check_ids(ids, "prompt")
        return found

    def _inputs(self, asked: CompletionAsked, prompts: int) -> list[dict[str, Any]]:
        """Of each prompt, what it has beside tokens."""
        given: list[Any] = list(asked.inputs)
        each = given if given and isinstance(given[0], list) else [given] if given or prompts == 1 else [[]] * prompts
        if len(each) != prompts:
            raise invalid(f"inputs are for {len(each)} prompts, expected {prompts}", "inputs")
        found = []
        for tensors in each:
            found.append({tensor.name: array_of(tensor) for tensor in tensors})
            self._engine.check_inputs(found[-1])
        return found

    def _text(self, ids: Sequence[int]) -> str:
        tokenizer = self._engine.tokenizer
        return tokenizer.decode(ids) if tokenizer else ""

    def _wanted(
        self, asked: TextAsked, prompts: Sequence[list[int]], most: Optional[int], logprobs: bool, top: int,
        inputs: Optional[Sequence[Mapping[str, Any]]] = None
    ) -> list[Wanted]:  # fmt: skip
        limits, engine, stops = self._limits, self._engine, asked.stops()
        for name, value, limit in (("n", asked.n * len(prompts), limits.texts), ("stop", len(stops), limits.stops),
                                   ("logprobs", top, limits.logprobs)):  # fmt: skip
            if value > limit:
                raise invalid(f"{name} is for {value}, expected {limit} at most", name)
        if stops and engine.tokenizer is None:
            raise invalid("stop strings need a tokenizer: start the server with --tokenizer, or give stop_token_ids", "stop")
        if "" in stops:
            raise invalid("a stop string is empty", "stop")
        check_stop_ids("stop_token_ids", asked.stop_token_ids, engine.given_words)
        room = engine.room
        for ids in prompts:
            if len(ids) + (most or 1) > room:
                raise invalid(f"the prompt has {len(ids)} tokens, and {most or 1} may follow: the model has room for {room}", "max_tokens")
        ends = frozenset(asked.stop_token_ids) | (frozenset() if asked.ignore_eos else engine.eos_ids)
        seed = asked.seed if asked.seed is not None else secrets.randbits(63)
        return [Wanted(ids, Chooser(asked.sampling(seed, stream), len(ids), ends, logprobs, top), most or room - len(ids), stops,
                       ids if isinstance(asked, CompletionAsked) else (), own)
                for ids, own in zip(prompts, inputs or [{}] * len(prompts)) for stream in range(asked.n)]  # fmt: skip

    async def _answer(self, asked: TextAsked, wanted: Sequence[Wanted], answer: _Answer, request: Request) -> Response:
        server = self._engine.server
        assert server is not None
        texts = Texts(server, self._engine.tokenizer, self._metrics, wanted)
        if asked.stream:
            return Events(_events(texts, answer, asked), self._limits)
        with texts:
            return JSONResponse(answer.whole(await unless_gone(request, texts.whole())))


async def _events(texts: Texts, answer: _Answer, asked: TextAsked) -> AsyncGenerator[bytes, None]:
    usage = asked.stream_options is not None and asked.stream_options.include_usage
    count = 0
    with texts:
        for value in answer.begin():
            yield event(value)
        async for piece in texts.pieces():
            count += 1
            value = answer.part(piece)
            yield event({**value, "usage": None} if usage else value)
        if usage:
            yield event({**answer.head(), "choices": [], "usage": answer.usage(count)})


class _Answer:
    """Of one request: as whole texts, or as parts."""

    kind = part_kind = prefix = ""

    def __init__(self, engine: Engine, asked: TextAsked, prompts: Sequence[Sequence[int]], echoes: Sequence[str]) -> None:
        self._engine, self._asked, self._echoes = engine, asked, echoes
        self._lengths = [len(ids) for ids in prompts]
        self._id, self._created = self.prefix + secrets.token_hex(12), int(time.time())
        before = [ids if isinstance(asked, CompletionAsked) else () for ids in prompts for _ in range(asked.n)]
        self._texts = [TokenTexts(engine.tokenizer, ids, len(echo)) for ids, echo in zip(before, echoes)]

    def head(self, kind: Optional[str] = None) -> dict[str, Any]:
        return {"id": self._id, "object": kind or self.part_kind, "created": self._created, "model": self._engine.name}

    def usage(self, count: int) -> dict[str, int]:
        given = sum(self._lengths)
        return {"prompt_tokens": given, "completion_tokens": count, "total_tokens": given + count}

    def whole(self, texts: Sequence[Whole]) -> dict[str, Any]:
        choices = [self.choice(i, text) for i, text in enumerate(texts)]
        return {**self.head(self.kind), "choices": choices, "usage": self.usage(sum(len(text.tokens) for text in texts))}

    def begin(self) -> list[dict[str, Any]]:
        return []

    def choice(self, index: int, text: Whole) -> dict[str, Any]:
        raise NotImplementedError

    def part(self, piece: Piece) -> dict[str, Any]:
        raise NotImplementedError


class _Completion(_Answer):
    kind = part_kind = "text_completion"
    prefix = "cmpl-"

    def _choice(self, index: int, text: str, tokens: Sequence[Token], reason: Optional[str]) -> dict[str, Any]:
        found = {"index": index, "text": text, "finish_reason": reason, "logprobs": self._logprobs(index, tokens)}
        return found if self._engine.tokenizer else {**found, "token_ids": [token.id for token in tokens]}

    def choice(self, index: int, text: Whole) -> dict[str, Any]:
        return self._choice(index, self._echoes[index] + text.text, text.tokens, text.finish_reason)

    def begin(self) -> list[dict[str, Any]]:
        return [{**self.head(), "choices": [self._choice(i, echo, (), None)]} for i, echo in enumerate(self._echoes) if echo]

    def part(self, piece: Piece) -> dict[str, Any]:
        return {**self.head(), "choices": [self._choice(piece.index, piece.text, [piece.token], piece.finish_reason)]}

    def _logprobs(self, index: int, tokens: Sequence[Token]) -> Optional[dict[str, Any]]:
        assert isinstance(self._asked, CompletionAsked)
        if self._asked.logprobs is None or not tokens:
            return None
        texts, names, top, offsets = self._texts[index], [], [], []
        for token in tokens:
            names.append(texts.of(token.id)[0])
            top.append({texts.of(each)[0]: in_json(logprob) for each, logprob in token.top_logprobs})
            offsets.append(texts.offset)
            texts.push(token.id)
        own = [in_json(token.logprob) for token in tokens]
        return {"tokens": names, "token_logprobs": own, "top_logprobs": top, "text_offset": offsets}


class _Chat(_Answer):
    kind, part_kind, prefix = "chat.completion", "chat.completion.chunk", "chatcmpl-"

    def choice(self, index: int, text: Whole) -> dict[str, Any]:
        return {"index": index, "message": {"role": "assistant", "content": text.text}, "finish_reason": text.finish_reason,
                "logprobs": self._logprobs(index, text.tokens)}  # fmt: skip

    def begin(self) -> list[dict[str, Any]]:
        delta = {"role": "assistant", "content": ""}
        return [{**self.head(), "choices": [{"index": i, "delta": delta, "finish_reason": None, "logprobs": None}]}
                for i in range(len(self._echoes))]  # fmt: skip

    def part(self, piece: Piece) -> dict[str, Any]:
        delta = {"content": piece.text} if piece.text else {}
        return {**self.head(), "choices": [{"index": piece.index, "delta": delta, "finish_reason": piece.finish_reason,
                                            "logprobs": self._logprobs(piece.index, [piece.token])}]}  # fmt: skip

    def _logprobs(self, index: int, tokens: Sequence[Token]) -> Optional[dict[str, Any]]:
        assert isinstance(self._asked, ChatAsked)
        if not self._asked.logprobs:
            return None
        texts = self._texts[index]

        def one(token: int, logprob: Optional[float]) -> dict[str, Any]:
            text, own = texts.of(token)
            return {"token": text, "logprob": in_json(logprob), "bytes": list(own)}

        content = []
        for token in tokens:
            content.append({**one(token.id, token.logprob), "top_logprobs": [one(*each) for each in token.top_logprobs]})
            texts.push(token.id)
        return {"content": content}


def _encoded(values: Any, encoding: str) -> Any:
    return values.tolist() if encoding == "float" else base64.b64encode(values.tobytes()).decode()
