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

    app.add_api_route("/", page, methods=["GET"], include_in_schema=False)
    app.add_api_route("/status", status, methods=["GET"])
    app.add_api_route("/metrics", text, methods=["GET"])
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
        app.add_api_route(f"{place}/live", live, methods=["GET"], response_model=None)
        app.add_api_route(f"{place}/ready", ready, methods=["GET"], response_model=None)


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
        if error.status_code == 404:
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


def _said(error: Mapping[str, Any]) -> Problem:
    """The first mistake of a request."""
    place = [str(part) for part in error["loc"] if part != "body"]
    if error["type"] == "json_invalid":
        return invalid(f"the request is no JSON: {error.get('ctx', {}).get('error', error['msg'])}")
    message = str(error["msg"]).replace("Value error, ", "")
    if error["type"] == "extra_forbidden":
        message = "there is no such field"
    return invalid(f"{'.'.join(place)}: {message}" if place else message, place[0] if place else None)
