"""The packages that the tests of one run install: made once, by the test that is first (tools/dev/run_tests.py names the folder)."""

import atexit
import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.support import ROOT


@functools.cache
def own_folder():
    """Of a test that runs by itself."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def packages(tool):
    """The folder of what tools/dev/TOOL makes, and what it said."""
    folder = Path(os.environ.get("SHARDC_TEST_PACKAGES") or own_folder()).resolve() / tool
    folder.mkdir(parents=True, exist_ok=True)
    said = folder.with_suffix(".txt")
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            done = subprocess.run([ROOT / "tools/dev" / tool, "-o", folder], capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, f"tools/dev/{tool}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
            said.write_text(done.stdout)
    return folder, said.read_text()
