#!/usr/bin/env python3
"""Succeeds if a command exits with a given code: exits-with.py 3 shardc model.onnx --tp 2."""
import subprocess
import sys

found = subprocess.call(sys.argv[2:])
if found != int(sys.argv[1]):
    print(f"exit code {found}, expected {sys.argv[1]}", flush=True)
    sys.exit(1)
