"""shardrt serve ARTIFACT [--tokenizer tokenizer.json]"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from typing import Any, Optional

from .._extras import need
from ..session import Session


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", help="what shardc wrote: a decoder by shardc --serve, or any other model")
    parser.add_argument("--tokenizer", help="tokenizer.json or its folder; else that beside the model")
    parser.add_argument("--name", help="of the model, in requests; else that of the artifact")
    network = parser.add_argument_group("network")
    network.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s; 0.0.0.0: all)")
    network.add_argument("--port", type=int, default=8000, help="%(default)s; 0: any that is free, which is printed")
    network.add_argument("--api-key", metavar="KEY", help="that requests have to have; else SHARDRT_API_KEY, or none")
    network.add_argument("--drain", type=int, default=30, metavar="SECONDS", help="for what runs, after SIGTERM (%(default)s)")
    limits = parser.add_argument_group("limits")
    limits.add_argument("--positions", type=int, default=32768, metavar="N",
                        help="of keys and values of all texts of a replica (%(default)s)")  # fmt: skip
    limits.add_argument("--step-tokens", type=int, default=512, metavar="N", help="of one step (%(default)s)")
    limits.add_argument("--step-rows", type=int, default=64, metavar="N", help="texts of one step (%(default)s)")
    limits.add_argument("--most-waiting", type=int, default=256, metavar="N", help="texts; more are refused, 429 (%(default)s)")
    limits.add_argument("--most-tokens", type=int, default=16384, metavar="N",
                        help="of a request to a model that generates no text: texts times the longest (%(default)s)")  # fmt: skip
    limits.add_argument("--most-length", type=int, default=2048, metavar="N",
                        help="tokens of such a text, where config.json does not say (%(default)s)")  # fmt: skip
    limits.add_argument("--most-connections", type=int, default=1024, metavar="N", help="more are refused, 503 (%(default)s)")
    limits.add_argument("--most-bytes", type=int, default=4 << 20, metavar="N", help="of a request; more: 413 (%(default)s)")
    limits.add_argument("--request-seconds", type=float, default=30, metavar="SECONDS",
                        help="within which a request has come, 408 (%(default)s)")  # fmt: skip
    machine = parser.add_argument_group("ranks")
    machine.add_argument("--device", help='"host", "cuda" or "cuda:0"; else as the artifact says')
    machine.add_argument("--weights-root", metavar="FOLDER", help="where the model's own files are now")
    machine.add_argument("--threads", type=int, default=0, metavar="N", help="of each rank; 0: an equal share of the cores")
    machine.add_argument("--timeout", type=float, metavar="SECONDS", help="that a rank waits for others; else 60, or SHARDC_TIMEOUT")
    machine.add_argument("--rejoin", type=int, default=0, metavar="N",
                         help="times that another process may take the place of one that is gone (%(default)s)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    for module in ("fastapi", "uvicorn"):
        need(module, "serve")
    from ..serve.company import Company

    company = Company(rejoin=arguments.rejoin, timeout=arguments.timeout)
    error: Optional[BaseException] = None
    try:
        with Session(arguments.artifact, device=arguments.device, weights_root=arguments.weights_root, threads=arguments.threads,
                     timeout=arguments.timeout, processes=company.processes) as session:  # fmt: skip
            if company.is_lead:
                _lead(arguments, session, company)
            else:  # rank 0 drains, and then says that it is over
                for number in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                company.follow(session)
    except BaseException as raised:
        error = raised
        raise
    finally:
        company.end(error)
    return 0


def _lead(arguments: argparse.Namespace, session: Session, company: Any) -> None:
    """Answers, until it is told to end."""
    import uvicorn

    from ..serve import Engine, Limits, application
    from ..serve.application import State
    from ..serve.http import Protocol, Uvicorn

    texts = {name: getattr(arguments, name) for name in ("positions", "step_tokens", "step_rows")} if session.page else {}
    engine = Engine(session, name=arguments.name, tokenizer=arguments.tokenizer, reopen=company.reopen,
                    most_waiting=arguments.most_waiting, most_tokens=arguments.most_tokens, most_length=arguments.most_length,
                    **texts)  # fmt: skip
    try:
        limits = Limits(body=arguments.most_bytes, body_seconds=arguments.request_seconds,
                        api_key=arguments.api_key or os.environ.get("SHARDRT_API_KEY") or None)  # fmt: skip
        if limits.api_key is None and arguments.host not in ("127.0.0.1", "::1", "localhost"):
            print(f"shardrt serve: warning: whoever reaches {arguments.host} may ask: give --api-key", file=sys.stderr)
        state, Protocol.head_seconds = State(), arguments.request_seconds
        config = uvicorn.Config(application(engine, limits, state), host=arguments.host, port=arguments.port, http=Protocol,
                                log_level="warning", access_log=False, lifespan="off", server_header=False,
                                limit_concurrency=arguments.most_connections,
                                timeout_graceful_shutdown=arguments.drain)  # fmt: skip
        server = Uvicorn(config, engine.name, state)
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn's while it runs, and raised again at its end
            signal.signal(number, lambda *_: None)
        with contextlib.suppress(SystemExit):  # which uvicorn raises where it cannot begin
            server.run()
    finally:
        engine.close()
    if not server.started:
        raise OSError(f"{arguments.host}:{arguments.port} cannot be listened at")
