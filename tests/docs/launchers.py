"""Launchers of ranks as programs on the path: stand-ins for those that need a cluster or PyTorch. They set the variables that the
real ones set, and pass SIGTERM on."""

import os
import shutil
import sys

from tests.support import ROOT

# How many ranks, and which of the words is the program's first.
WORDS = {"srun": ("-n", 2), "torchrun": ("--nproc-per-node", 3), "mpirun": ("-n", 2)}
SCRIPT = """#!{python}
import os, signal, subprocess, sys

sys.path.insert(0, {root!r})
from tests.e2e.processes import by_hand, srun, torchrun

words = sys.argv[1:]
count = int(words[words.index({flag!r}) + 1])
ranks = []
signal.signal(signal.SIGTERM, lambda *_: [rank.terminate() for rank in ranks])
for place in {places}(count):
    own = os.environ | {{name: str(value) for name, value in place.items()}}
    ranks.append(subprocess.Popen(words[{first}:], env=own))
sys.exit(max(rank.wait() for rank in ranks))
"""


def write_launchers(folder):
    """Into a folder of their own; what has to be in the environment for the page to find them. MPI's own is taken where it is."""
    folder.mkdir()
    for name, (flag, first) in WORDS.items():
        if name == "mpirun" and shutil.which(name):
            continue
        places = {"mpirun": "by_hand"}.get(name, name)
        file = folder / name
        file.write_text(SCRIPT.format(python=sys.executable, root=str(ROOT), flag=flag, places=places, first=first))
        file.chmod(0o755)
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none"}  # fmt: skip


def on_path(folder, *others):
    return os.pathsep.join([str(folder), *map(str, others), os.environ["PATH"]])
