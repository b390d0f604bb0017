"""HTTP in front of a compiled model: OpenAI's interface, KServe's V2, Prometheus, a page (packages fastapi and uvicorn).

What answers is `application(Engine(...), Limits(...))`, an ASGI application; `shardrt serve` runs it by uvicorn.
"""

from .application import application
from .engine import Engine
from .limits import Limits

__all__ = ["Engine", "Limits", "application"]
