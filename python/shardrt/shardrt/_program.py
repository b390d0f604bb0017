"""The program shardrun of this package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_BESIDE = Path(__file__).parent / "bin" / "shardrun"


def version_text(name: str, version: str) -> str:
    """What --version prints of `name`: also the commit that was built and the format of artifacts, as shardrun knows them,
    the one of this package, or of this version on PATH."""
    program = str(_BESIDE) if _BESIDE.exists() else shutil.which("shardrun")
    said = _said(program) if program else ""
    alike = said.split("\n")[0].split(" (")[0] == f"shardrun {version}"
    return said.replace("shardrun", name, 1) if alike else f"{name} {version}"


def _said(program: str) -> str:
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def main() -> None:
    """Becomes it."""
    os.environ.setdefault("SHARDC_PYTHON", sys.executable)  # for --prompt
    program = _BESIDE
    os.execv(program, [str(program), *sys.argv[1:]])
