"""Writes an artifact's files as one input of the harness `program` (runtime/Bundle.h).

    python3 -m tests.fuzz.bundle FOLDER SEED

The artifact has one stage, and --weights copy for at most two ranks.
"""

import json
import struct
import sys
from pathlib import Path


def bundle(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    kept = ("format", "tool", "tolerance", "weights", "mesh", "stages", "files", "kernels", "target")
    manifest = {key: manifest[key] for key in kept if key in manifest}
    program = (folder / manifest["stages"][0]["program"]).read_bytes()
    paths = [folder / entry["path"] for entry in manifest["files"] if entry["root"] == "artifact"]
    rest = max((path.read_bytes() for path in paths), key=len, default=b"")
    return json.dumps(manifest).encode() + b"\0" + struct.pack("<I", len(program)) + program + rest


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(bundle(Path(sys.argv[1])))
