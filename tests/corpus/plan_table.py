"""What each model of the corpus holds and sends at tp 4, as a table.

    .venv/bin/python -m tests.corpus.plan_table > tests/corpus/plans-tp4.txt

Sizes are those of the model's first data set. A merged decoder has a line for each of its programs.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

from tests.support import BIN, ROOT

CORPUS = ROOT.parent / "shared/corpus"
TP = 4
TABLE = Path(__file__).with_name(f"plans-tp{TP}.txt")
HEADER = f"""What each rank of {TP} holds of a model of the corpus, and what a run of its first data set sends (tests/corpus/plan_table.py).
`all`: bytes of all weights; `rank`: of the rank that holds most; `whole`: of matrices that no rank holds but whole;
`wire`: bytes that all ranks send together; `collectives`: per run.

"""
COLUMNS = f"{'model':52} {'all':>9} {'rank':>9} {'whole':>8} {'wire':>9} {'collectives':>11}"


def sizes(model, data):
    """--dims for a data set."""
    weights = {weight.name for weight in model.graph.initializer}
    dims = {}
    inputs = [value for value in model.graph.input if value.name not in weights]
    for i, value in enumerate(inputs):
        found = onnx.load_tensor(data / f"input_{i}.pb").dims
        for dim, size in zip(value.type.tensor_type.shape.dim, found, strict=True):
            if dim.dim_param.isidentifier():
                dims[dim.dim_param] = size
    return dims


def plan(file, dims, tp):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        flags = ["--tp", str(tp), "--explain-json", report.name]
        if dims:
            flags += ["--dims", ",".join(f"{name}={size}" for name, size in dims.items())]
        done = subprocess.run([str(BIN / "shardc"), str(file), *flags], capture_output=True, text=True)
        if done.returncode == 2 and "has no such size" in done.stderr:
            unknown = done.stderr.split("--dims ")[1].split(":")[0]
            return plan(file, {name: size for name, size in dims.items() if name != unknown}, tp)
        if done.returncode != 0:
            return None
        return json.loads(Path(report.name).read_text())


def lines(folder):
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    dims = sizes(model, folder / "test_data_set_0")
    one, many = (plan(folder / "model.onnx", dims, tp) for tp in (1, TP))
    if not many:
        return [f"{folder.name:52} does not compile"]
    whole = sum(w["bytes"] for w in many["whole_weights"] if w["why"] == "splitting it would add a collective")
    held = [one["ranks"][0]["weight_bytes"], max(rank["weight_bytes"] for rank in many["ranks"]), whole]
    profiles = {}
    for entry in many["collectives"]:
        profiles.setdefault(entry.get("profile", ""), []).append(entry["wire_bytes"])
    rows = []
    for profile, sent in sorted(profiles.items()) or [("", [])]:
        wire = sum(sent) if all(isinstance(bytes, int) for bytes in sent) else "?"
        name = f"{folder.name} {profile}" if profile else folder.name
        rows.append(f"{name:52} {held[0]:9} {held[1]:9} {held[2]:8} {wire:>9} {len(sent):11}")
    return rows


def table():
    rows = [row for file in sorted(CORPUS.glob("*/model.onnx")) for row in lines(file.parent)]
    return HEADER + "\n".join([COLUMNS, *rows]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
