"""All of it as one ASGI application."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response

from .. import __version__
from ..errors import Error
from .engine import Engine
from .guard import App, Gone, Guard
from .kserve import KServe
from .limits import Limits
from .metrics import Metrics
from .openai import OpenAI
from .problems import Problem, invalid, of_error
from .reads import add_read

PAGE = Path(__file__).with_name("page.html")
# The page takes nothing from anywhere else.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; frame-ancestors 'none'"

BINARY = "Inference-Header-Content-Length"
"""Of requests of KServe's protocol with an extension that is not here."""


class State:
    """Of the process: whether it takes requests."""

    draining = False


def application(engine: Engine, limits: Limits = Limits(), state: State = State()) -> App:
    app = FastAPI(title="shardrt", version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    metrics = Metrics()
    app.include_router(OpenAI(engine, limits, metrics).routes())
    app.include_router(KServe(engine, metrics).routes())
    _add_health(app, engine, state, limits)

    async def page() -> Response:
        headers = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff"}
        return HTMLResponse(PAGE.read_text(encoding="utf-8"), headers=headers)

    async def status() -> dict[str, Any]:
        return {**engine.status(), "draining": state.draining, "version": __version__}

    async def text() -> Response:
        return PlainTextResponse(metrics.text(engine), media_type="text/plain; version=0.0.4")

    async def plan() -> dict[str, Any]:
        return engine.plan

    for path, read in (("/", page), ("/status", status), ("/plan", plan), ("/metrics", text)):
        add_read(app, path, read)
    _add_problems(app, limits)
    return Guard(app, limits, metrics)


def _add_health(app: FastAPI, engine: Engine, state: State, limits: Limits) -> None:
    async def live() -> Response:
        return JSONResponse({"live": not engine.is_over}, 503 if engine.is_over else 200)

    async def ready() -> Response:
        why = "the server ends" if state.draining else engine.unavailable
        if why is None:
            return JSONResponse({"ready": True})
        return JSONResponse({"ready": False, "why": why}, 503, {"Retry-After": str(limits.recovery_seconds)})

    for place in ("/health", "/v2/health"):
        add_read(app, f"{place}/live", live)
        add_read(app, f"{place}/ready", ready)


def _add_problems(app: FastAPI, limits: Limits) -> None:
    async def malformed(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        if BINARY in request.headers:
            return invalid(f"{BINARY}: tensors in binary behind the JSON are not supported", BINARY).answer()
        return _said(error.errors()[0]).answer()

    async def other(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers) if isinstance(error.headers, Mapping) else {}
        message, path, kind = str(error.detail), request.url.path, "invalid_request_error"
        if error.status_code == 400 and error.__cause__ is not None:  # FastAPI could not read the body
            message = f"the request is no JSON: {_unread(error.__cause__, request)}"
        elif error.status_code == 404:
            message, kind = f"there is no path {path}", "not_found_error"
        elif error.status_code == 405:
            message = f"{request.method} is no method of {path}, expected {headers.get('Allow', 'another one')}"
        return Problem(error.status_code, message, kind=kind, headers=headers).answer()

    async def raised(_: Request, error: Exception) -> Response:
        return of_error(error, limits).answer()

    async def gone(_: Request, error: Exception) -> Response:
        raise error

    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, other)
    app.add_exception_handler(Gone, gone)
    for kind in (Problem, Error, ValueError, TypeError, RuntimeError, TimeoutError, Exception):
        app.add_exception_handler(kind, raised)


def _unread(error: BaseException, request: Request) -> str:
    """Why a body is no JSON."""
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        return f"it is encoded as {encoding}, which is not supported: send it as it is"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8: byte {error.object[error.start]:#04x} at {error.start}"
    return "a number has too many digits" if "digits" in str(error) else str(error)


def _said(error: Mapping[str, Any]) -> Problem:
    """The first mistake of a request."""
    place = [str(part) for part in error["loc"] if part != "body"]
    if error["type"] == "json_invalid":
        return invalid(f"the request is no JSON: {error.get('ctx', {}).get('error', error['msg'])}")
    message = str(error["msg"]).replace("Value error, ", "")
    if error["type"] == "extra_forbidden":
        message = "there is no such field"
    return invalid(f"{'.'.join(place)}: {message}" if place else message, place[0] if place else None)
