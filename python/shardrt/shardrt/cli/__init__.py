"""The program `shardrt`: one module a command, each with `configure(parser)` and `run(arguments) -> int`."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Optional

from ._flags import Parser
from ._status import RUNNING, status_of

# Module of this folder, and what its command does.
COMMANDS = {
    "generate": "continue prompts with a compiled decoder",
    "serve": "answer requests over HTTP, as OpenAI's and KServe's clients ask them",
}


class _Version(argparse.Action):
    """Nothing is asked before somebody wants to know."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .. import __version__
        from .._program import version_text

        print(version_text(parser.prog, __version__))
        parser.exit()


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """What goes wrong is one line on stderr, and a status that says whose error it is."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = Parser(prog="shardrt", description="Runs transformers that shardc compiled for many devices.")
    parser.add_argument("--version", action=_Version, nargs=0, help="the version, the commit that was built, and the format of artifacts")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, does in COMMANDS.items():
        command = commands.add_parser(name, help=does, description=does[0].upper() + does[1:] + ".")
        if name in given[:1]:  # others are not imported
            importlib.import_module(f".{name}", __package__).configure(command)
    parsed = parser.parse_args(given)
    try:
        return int(importlib.import_module(f".{parsed.command}", __package__).run(parsed))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # who reads has heard enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return RUNNING
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as error:
        print(f"shardrt {parsed.command}: {error}", file=sys.stderr)
        return status_of(error)
