"""The program shardrun of this package."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes it."""
    os.environ.setdefault("SHARDC_PYTHON", sys.executable)  # for --prompt
    program = Path(__file__).parent / "bin" / "shardrun"
    os.execv(program, [str(program), *sys.argv[1:]])
