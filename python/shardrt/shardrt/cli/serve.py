"""shardrt serve ARTIFACT [--tokenizer tokenizer.json]"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any, Optional

from .. import _checks
from .._extras import need
from ..session import Session
from ._flags import name, said, seconds, whole


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("artifact", help="what shardc wrote: a decoder by shardc --serve, or any other model")
    parser.add_argument("--tokenizer", help="tokenizer.json or its folder; else that in the artifact (--weights copy), or beside the model")
    parser.add_argument("--name", type=name, help="of the model, in requests; else that of the artifact")
    network = parser.add_argument_group("network")
    network.add_argument("--host", type=said("an address"), default="127.0.0.1", help="address to listen at (%(default)s; 0.0.0.0: all)")
    network.add_argument("--port", type=whole(_checks.Range(0, 65535)), default=8000, help="%(default)s; 0: any that is free, which is printed")
    network.add_argument("--api-key", type=said("a key"), metavar="KEY", help="that requests have to have; else SHARDRT_API_KEY, or none")
    network.add_argument("--drain", type=whole(_checks.Range(0, 10**6)), default=30, metavar="SECONDS", help="for what runs, after SIGTERM (%(default)s)")
    limits = parser.add_argument_group("limits")
    limits.add_argument("--positions", type=whole(_checks.COUNT), default=32768, metavar="N",
                        help="of keys and values of all texts of a replica (%(default)s)")  # fmt: skip
    limits.add_argument("--step-tokens", type=whole(_checks.COUNT), default=512, metavar="N", help="of one step (%(default)s)")
    limits.add_argument("--step-rows", type=whole(_checks.COUNT), default=64, metavar="N", help="texts of one step (%(default)s)")
    limits.add_argument("--most-waiting", type=whole(_checks.COUNT), default=256, metavar="N", help="texts; more are refused, 429 (%(default)s)")
    limits.add_argument("--most-tokens", type=whole(_checks.COUNT), default=16384, metavar="N",
                        help="of a request to a model that generates no text: texts times the longest (%(default)s)")  # fmt: skip
    limits.add_argument("--most-length", type=whole(_checks.COUNT), default=2048, metavar="N",
                        help="tokens of such a text, where config.json does not say (%(default)s)")  # fmt: skip
    limits.add_argument("--most-connections", type=whole(_checks.COUNT), default=1024, metavar="N",
                        help="requests at once; more are refused, 503. Twice as many connections are open: of more the one that asks "
                             "nothing for longest is closed (%(default)s)")  # fmt: skip
    limits.add_argument("--most-bytes", type=whole(_checks.COUNT), default=4 << 20, metavar="N", help="of a request; more: 400 (%(default)s)")
    limits.add_argument("--request-seconds", type=seconds, default=30, metavar="SECONDS",
                        help="within which a request has come, 408 (%(default)s)")  # fmt: skip
    machine = parser.add_argument_group("ranks")
    machine.add_argument("--device", help='"host", "cuda" or "cuda:0"; else as the artifact says')
    machine.add_argument("--weights-root", metavar="FOLDER", help="where the model's own files are now")
    machine.add_argument("--threads", type=whole(_checks.THREADS), default=0, metavar="N", help="of each rank; 0: an equal share of the cores")
    machine.add_argument("--timeout", type=seconds, metavar="SECONDS", help="that a rank waits for others; else 60, or SHARDC_TIMEOUT")
    machine.add_argument("--rejoin", type=whole(), default=0, metavar="N",
                         help="times that another process may take the place of one that is gone (%(default)s)")  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    for module in ("fastapi", "uvicorn"):
        need(module, "serve")
    if os.environ.get("SHARDRT_API_KEY") == "":
        raise ValueError("SHARDRT_API_KEY is empty: expected a key, or no such variable")
    from ..serve.company import Company

    company = Company(rejoin=arguments.rejoin, timeout=arguments.timeout)
    error: Optional[BaseException] = None
    try:
        if company.is_lead:
            _check_place(arguments.host, arguments.port)
        with Session(arguments.artifact, device=arguments.device, weights_root=arguments.weights_root, threads=arguments.threads,
                     timeout=arguments.timeout, processes=company.processes,
                     cache_positions=_cache_positions(arguments.artifact, arguments.positions)) as session:  # fmt: skip
            if company.is_lead:
                _lead(arguments, session, company)
            else:  # rank 0 drains, and then says that it is over
                company.follow(session)
    except BaseException as raised:
        error = raised
        raise
    finally:
        company.end(error)
    return 0


def _cache_positions(artifact: str, positions: int) -> int:
    """That have to fit before anything is loaded: of a model for steps of rows."""
    try:
        manifest = json.loads((Path(artifact) / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return 0  # opening it says what is wrong
    return positions if manifest.get("page") else 0


def _check_place(host: str, port: int) -> None:
    """Whether it can be listened at, before anything is opened."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except (OSError, UnicodeError) as error:
        raise ValueError(f"--host {host}: no such address: {error}") from None
    with socket.socket(family, kind, protocol) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(place)
        except OSError as error:
            raise ValueError(f"{host}:{port} cannot be listened at: {error.strerror}; give another --host or --port") from None


def _lead(arguments: argparse.Namespace, session: Session, company: Any) -> None:
    """Answers, until it is told to end."""
    import uvicorn

    from ..serve import Engine, Limits, application
    from ..serve.application import State
    from ..serve.http import BACKLOG, Protocol, Uvicorn, room_for_connections

    texts = {name: getattr(arguments, name) for name in ("positions", "step_tokens", "step_rows")} if session.page else {}
    engine = Engine(session, name=arguments.name, tokenizer=arguments.tokenizer, reopen=company.reopen,
                    most_waiting=arguments.most_waiting, most_tokens=arguments.most_tokens, most_length=arguments.most_length,
                    **texts)  # fmt: skip
    try:
        connections = room_for_connections(2 * arguments.most_connections)
        limits = Limits(body=arguments.most_bytes, body_seconds=arguments.request_seconds, requests=connections // 2,
                        api_key=arguments.api_key or os.environ.get("SHARDRT_API_KEY"))  # fmt: skip
        if limits.api_key is None and arguments.host not in ("127.0.0.1", "::1", "localhost"):
            print(f"shardrt serve: warning: whoever reaches {arguments.host} may ask: give --api-key", file=sys.stderr)
        if engine.server is not None and engine.tokenizer is None:
            print("shardrt serve: warning: prompts are lists of ids, as there is no tokenizer: give --tokenizer", file=sys.stderr)
        if limits.requests < arguments.most_connections:
            print(f"shardrt serve: warning: --most-connections is {limits.requests}, since no more files may be open: raise ulimit -n",
                  file=sys.stderr)  # fmt: skip
        state, Protocol.head_seconds, Protocol.most_open = State(), arguments.request_seconds, connections
        config = uvicorn.Config(application(engine, limits, state), host=arguments.host, port=arguments.port, http=Protocol,
                                log_level="warning", access_log=False, lifespan="off", server_header=False, backlog=BACKLOG,
                                timeout_graceful_shutdown=arguments.drain)  # fmt: skip
        server = Uvicorn(config, engine.name, state)
        for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn's while it runs, and raised again at its end
            signal.signal(number, lambda *_: None)
        with contextlib.suppress(SystemExit):  # which uvicorn raises where it cannot begin
            server.run()
    finally:
        company.stop_waiting()
        engine.close()
    if not server.started:
        raise OSError(f"{arguments.host}:{arguments.port} cannot be listened at")
