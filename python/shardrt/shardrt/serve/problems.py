"""What goes wrong, as answers: a status, and an object like that of OpenAI."""

from __future__ import annotations

from typing import Any, Optional

from fastapi.responses import JSONResponse

from .. import errors
from .limits import Limits


HALF = "a text has half of a surrogate pair (\\ud800 to \\udfff), which is no character"


class Problem(Exception):
    """A request that is answered by an error."""

    def __init__(self, status: int, message: str, *, param: Optional[str] = None, kind: str = "invalid_request_error",
                 headers: Optional[dict[str, str]] = None, where: Optional[dict[str, Any]] = None) -> None:  # fmt: skip
        super().__init__(message)
        self.status, self.message, self.param, self.kind = status, message, param, kind
        self.headers, self.where = headers, where or {}

    def body(self) -> dict[str, Any]:
        message = self.message.encode(errors="replace").decode()  # it may say what was asked for
        return {"error": {"message": message, "type": self.kind, "param": self.param, "code": self.status, **self.where}}

    def answer(self) -> JSONResponse:
        return JSONResponse(self.body(), self.status, self.headers)


def invalid(message: str, param: Optional[str] = None) -> Problem:
    return Problem(400, message, param=param)


def of_error(error: BaseException, limits: Limits) -> Problem:
    """As an exception of this package says it, with rank, stage and node."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, UnicodeEncodeError):
        return invalid(HALF)
    said = str(error) or type(error).__name__
    known = isinstance(error, (errors.Error, ValueError, TypeError, RuntimeError, TimeoutError))
    message = said if known else f"{type(error).__name__}: {error}"
    where = {name: getattr(error, name, None) for name in ("rank", "stage", "node", "operator")}
    where = {name: value for name, value in where.items() if value is not None}
    if isinstance(error, errors.Busy):
        return Problem(429, message, kind="rate_limit_error", headers={"Retry-After": str(limits.retry_after)})
    if isinstance(error, errors.Unavailable):
        return Problem(503, message, kind="unavailable", headers={"Retry-After": str(limits.recovery_seconds)}, where=where)
    if isinstance(error, errors.InvalidArgument) or (isinstance(error, (ValueError, TypeError)) and not isinstance(error, errors.Error)):
        return Problem(400, message, where=where)
    return Problem(500, message, kind="server_error", where=where)
