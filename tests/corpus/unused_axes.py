"""Which models of the corpus cannot use an axis of the mesh: every rank along it then computes the same.

    .venv/bin/python -m tests.corpus.unused_axes > tests/corpus/unused-axes.txt
"""

import re
import subprocess
import sys
from pathlib import Path

from tests.corpus.plan_table import CORPUS
from tests.support import BIN

LIST = Path(__file__).with_name("unused-axes.txt")
AXES = ("tp", "ep", "cp")
HEADER = """Models of the corpus that cannot use an axis of 2 ranks (tests/corpus/unused_axes.py); each is run all the same, with a warning.

"""


def is_unused(model, axis):
    done = subprocess.run([str(BIN / "shardc"), str(model), f"--{axis}", "2", "--explain"], capture_output=True, text=True)
    assert done.returncode == 0, f"{model} --{axis} 2: {done.stderr}"
    return re.search(rf'nothing in the model can be split over "{axis}"', done.stderr) is not None


def table():
    rows = [
        f"{axis} {model.parent.name}"
        for axis in AXES
        for model in sorted(CORPUS.glob("*/model.onnx"))
        if is_unused(model, axis)
    ]
    return HEADER + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
