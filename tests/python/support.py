"""Makes the Python packages of the tree importable, on what is built."""

import os
import sys

from tests.support import BIN, BUILD, ROOT

PACKAGES = [ROOT / "python" / name for name in ("shardrt", "shardc")]
for package in PACKAGES:
    if str(package) not in sys.path:
        sys.path.insert(0, str(package))
os.environ.setdefault("SHARDC_LIBRARY", str(BUILD / "runtime/libshardrt.so"))
os.environ.setdefault("SHARDC_PROGRAM", str(BIN / "shardc"))
