"""Paths that are read: by GET, and by HEAD, which load balancers ask with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Union

from fastapi import APIRouter, FastAPI


def add_read(routes: Union[FastAPI, APIRouter], path: str, read: Callable[..., Awaitable[Any]]) -> None:
    """Of HEAD uvicorn leaves out the body."""
    routes.add_api_route(path, read, methods=["GET"], response_model=None)
    routes.add_api_route(path, read, methods=["HEAD"], response_model=None, include_in_schema=False)
