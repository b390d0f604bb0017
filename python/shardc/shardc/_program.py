"""The compiler, which is a program: in this package, or on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional, Union

from .errors import CompileError

Flag = Union[bool, int, float, str, "os.PathLike[str]", Mapping[str, int], Sequence[Union[int, str]], None]


def program() -> str:
    """Where it is: SHARDC_PROGRAM, the one of this package, or `shardc` on PATH."""
    beside = Path(__file__).parent / "bin" / "shardc"
    found = os.environ.get("SHARDC_PROGRAM") or (str(beside) if beside.exists() else shutil.which("shardc"))
    if not found:
        raise FileNotFoundError("the program shardc is not there: install the wheel of shardc, put it on PATH, or name it in "
                                "SHARDC_PROGRAM")  # fmt: skip
    return found


def flags(given: Mapping[str, Flag]) -> list[str]:
    """Keywords as flags: tp=2 is --tp 2, sp=True --sp, dims={"batch": 1} --dims batch=1, pin=[a, b] --pin a --pin b.
    None and False are left out."""
    words: list[str] = []
    for name, value in given.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, Mapping):
            words += [flag, ",".join(f"{size}={number}" for size, number in value.items())]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for each in value:
                words += [flag, str(each)]
        elif flag == "--serve":  # its value is optional
            words.append(f"{flag}={value}")
        else:
            words += [flag, os.fspath(value) if isinstance(value, os.PathLike) else str(value)]
    return words


def run(
    arguments: Sequence[str], *, model: Optional[str] = None, accept: Sequence[int] = (0,)
) -> subprocess.CompletedProcess[str]:
    """What the program does with these arguments; CompileError where its status is another than those."""
    done = subprocess.run([program(), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)  # fmt: skip
    if done.returncode not in accept:
        raise CompileError(done.stderr, done.returncode, model)
    return done


def main() -> None:
    """Becomes the program."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
