"""/v2: KServe's protocol of inference, tensors in JSON, for any model.

A decoder of texts takes input_ids [n, positions] and gives logits [n, words], those behind each row. Other models take and give
what they take and give.
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, field_validator
from starlette.responses import JSONResponse, Response

from .. import __version__
from .._types import dtype_of
from ..session import ValueInfo
from ..texts import Chooser, Logits, Token
from .engine import Engine
from .events import unless_gone
from .metrics import Metrics
from .problems import HALF, Problem, invalid
from .reads import add_read
from .tensors import TYPES, Parameters, TensorAsked, array_of
from .texts import Texts, Wanted


class OutputAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    parameters: Parameters = Field(default_factory=dict)


class InferAsked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: Optional[str] = None
    parameters: Parameters = Field(default_factory=dict)
    inputs: list[TensorAsked] = Field(min_length=1)
    outputs: Optional[list[OutputAsked]] = None

    @field_validator("id")
    @classmethod
    def _is_text(cls, given: Optional[str]) -> Optional[str]:
        """The answer has it."""
        if given is not None and any("\ud800" <= each <= "\udfff" for each in given):
            raise ValueError(HALF)
        return given


class KServe:
    def __init__(self, engine: Engine, metrics: Metrics) -> None:
        self._engine, self._metrics = engine, metrics

    def routes(self) -> APIRouter:
        router = APIRouter(prefix="/v2")
        add_read(router, "", self.server)
        for place in ("/models/{name}", "/models/{name}/versions/{version}"):
            add_read(router, place, self.metadata)
            add_read(router, f"{place}/ready", self.ready)
            router.add_api_route(f"{place}/infer", self.infer, methods=["POST"], response_model=None)
        return router

    async def server(self) -> dict[str, Any]:
        return {"name": "shardrt", "version": __version__, "extensions": []}

    async def metadata(self, name: str, version: str = "1") -> dict[str, Any]:
        self._check(name, version)
        session = self._engine.session
        if self._engine.server is not None:
            others = [_described(info) for info in session.inputs if info.name in self._engine.others]
            inputs = [{"name": "input_ids", "datatype": "INT64", "shape": [-1, -1]}, *others]
            outputs = [{"name": "logits", "datatype": "FP32", "shape": [-1, -1]}]
        else:
            inputs, outputs = ([_described(info) for info in infos] for infos in (session.inputs, session.outputs))
        return {"name": name, "versions": ["1"], "platform": "shardc", "inputs": inputs, "outputs": outputs}

    async def ready(self, name: str, version: str = "1") -> Response:
        self._check(name, version)
        why = self._engine.unavailable
        return JSONResponse({"name": name, "ready": why is None}, 200 if why is None else 503)

    async def infer(self, name: str, asked: InferAsked, request: Request, version: str = "1") -> Response:
        self._check(name, version)
        inputs = {tensor.name: array_of(tensor) for tensor in asked.inputs}
        if len(inputs) < len(asked.inputs):
            raise invalid("an input comes twice", "inputs")
        if self._engine.server is not None:
            found = await unless_gone(request, self._logits(inputs))
        else:
            self._check_inputs(inputs)
            found = await unless_gone(request, self._run(inputs))
        wanted = [output.name for output in asked.outputs] if asked.outputs is not None else list(found)
        missing = next((each for each in wanted if each not in found), None)
        if missing is not None:
            raise invalid(f"there is no output '{missing}', but {', '.join(found)}", "outputs")
        outputs = [_tensor(each, found[each]) for each in wanted]
        answer = {"model_name": name, "model_version": "1", "outputs": outputs}
        return JSONResponse(answer if asked.id is None else {**answer, "id": asked.id})

    async def _run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        engine = self._engine
        assert engine.requests is not None
        return await engine.requests.run(lambda: engine.session.run(inputs))

    async def _logits(self, inputs: dict[str, Any]) -> dict[str, Any]:
        ids = inputs.get("input_ids")
        if ids is None or ids.ndim != 2 or ids.dtype.kind not in "iu" or not ids.size:
            raise invalid("a decoder of texts takes input_ids, INT64 [n, positions]", "inputs")
        others = {name: value for name, value in inputs.items() if name != "input_ids"}
        if any(value.ndim == 0 or len(value) != len(ids) for value in others.values()):
            raise invalid(f"input_ids are of {len(ids)} texts, and so has to be each other input", "inputs")
        if ids.shape[1] + 1 > self._engine.room:
            raise invalid(f"a row has {ids.shape[1]} tokens, and one follows: the model has room for {self._engine.room}", "inputs")
        self._engine.check_ids(ids, "inputs")
        server, rows = self._engine.server, [_Row() for _ in ids]
        assert server is not None
        given = [{name: value[i : i + 1] for name, value in others.items()} for i in range(len(ids))]
        for each in given:
            self._engine.check_inputs(each)
        wanted = [Wanted(each.tolist(), row, 1, inputs=own) for each, row, own in zip(ids, rows, given)]
        with Texts(server, None, self._metrics, wanted) as texts:
            await texts.whole()
        return {"logits": np.stack([row.logits for row in rows])}

    def _check(self, name: str, version: str) -> None:
        if name != self._engine.name:
            raise Problem(404, f"there is no model '{name}', but '{self._engine.name}'", kind="not_found_error")
        if version != "1":
            raise Problem(404, f"there is no version '{version}', but '1'", kind="not_found_error")

    def _check_inputs(self, inputs: dict[str, Any]) -> None:
        known = {info.name: info for info in self._engine.session.inputs}
        for name, array in inputs.items():
            if name not in known:
                raise invalid(f"there is no input '{name}', but {', '.join(known)}", "inputs")
            if array.dtype != dtype_of(known[name].dtype, name):
                raise invalid(f"input '{name}' is {array.dtype}, expected {known[name].dtype}", "inputs")
            if _are_tokens(known[name]) and array.ndim == 2:
                rows, positions = array.shape
                self._engine.check_tokens(rows, positions, "inputs")
            if name == "input_ids" and array.size:
                self._engine.check_ids(array, "inputs")


class _Row(Chooser):
    """Keeps the logits."""

    logits: Any = None

    def __call__(self, logits: Logits, ids: list[int]) -> Token:
        object.__setattr__(self, "logits", logits.copy())
        return Token(int(logits.argmax()))


def _are_tokens(info: ValueInfo) -> bool:
    """Ids, masks or positions of texts of any length, [n, positions]."""
    return "int" in info.dtype and len(info.dims) == 2 and not info.dims[1].isdigit()


def _described(info: ValueInfo) -> dict[str, Any]:
    shape = [int(dim) if dim.isdigit() else -1 for dim in info.dims]
    return {"name": info.name, "datatype": TYPES.get(info.dtype, info.dtype), "shape": shape}


def _tensor(name: str, array: Any) -> dict[str, Any]:
    values = array.astype(np.float32) if array.dtype.name in ("bfloat16", "float16") else array
    flat = values.reshape(-1)
    if values.dtype.kind == "f" and not np.isfinite(flat).all():
        raise Problem(500, f"output '{name}' has values that are no finite numbers, which JSON has not", kind="server_error")
    return {"name": name, "datatype": TYPES.get(array.dtype.name, array.dtype.name), "shape": list(array.shape), "data": flat.tolist()}
