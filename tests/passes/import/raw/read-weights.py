#!/usr/bin/env python3
"""Says of each f32 onnx.Weight on stdin whether its file holds ones: read-weights.py MODEL_FOLDER."""
import re
import sys
from pathlib import Path

import numpy as np

WEIGHT = re.compile(r'onnx.Weight .*file = "(.*?)", length = (\d+) .*name = "(.*?)", offset = (\d+)')
for file, length, name, offset in WEIGHT.findall(sys.stdin.read()):
    data = np.fromfile(Path(sys.argv[1]) / file, np.float32, int(length) // 4, offset=int(offset))
    print(name, len(data), "ones" if (data == 1).all() else "something else")
