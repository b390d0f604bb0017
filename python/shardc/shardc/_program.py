"""The compiler, which is a program: in this package, or on PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Optional, Union

from . import _progress
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
    arguments: Sequence[str], *, model: Optional[str] = None, accept: Sequence[int] = (0,), shows: bool = False
) -> subprocess.CompletedProcess[str]:
    """What the program does with these arguments; CompileError where its status is another than those. `shows`: with its progress,
    where somebody sees it."""
    command = [program(), *arguments]
    done = _run_shown(command) if shows and _progress.is_seen() else _run(command)
    if done.returncode not in accept:
        raise CompileError(done.stderr, done.returncode, model)
    return done


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          stdin=subprocess.DEVNULL)  # fmt: skip


def _run_shown(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    said: list[str] = []
    bar = _progress.Bar()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, env=os.environ | {"SHARDC_PROGRESS": "lines"}) as process:  # fmt: skip
        assert process.stdout is not None and process.stderr is not None
        printed: list[str] = []
        reader = threading.Thread(target=lambda: printed.append(process.stdout.read() if process.stdout else ""))
        reader.start()
        try:
            for line in process.stderr:
                if not line.startswith("progress: "):
                    said.append(line)
                    continue
                done, _, what = line.removeprefix("progress: ").rstrip("\n").partition(" ")
                bar.show(what, float(done) if done != "-" else None)
        except BaseException:
            process.kill()
            raise
        finally:
            bar.finish()
            reader.join()
    return subprocess.CompletedProcess(command, process.returncode, "".join(printed), "".join(said))


def main() -> None:
    """Becomes the program."""
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
