"""What calibrate and predict --host share: artifacts of this machine's ranks, and how long their runs and kernels take."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from onnx import numpy_helper

ROW = re.compile(r"^ +([\d.]+) ms +[\d.]+ % +(\d+) x +\S+ +\S+ +\S+(?: %)? +(\S+)")


class Host:
    def __init__(self, build, folder):
        self.bin, self.folder = Path(build) / "bin", Path(folder)

    def call(self, name, *arguments):
        words = [str(word) for word in (self.bin / name, *arguments)]
        # Ranks that wait would take the time of those that work.
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "OMP_WAIT_POLICY": "passive"})
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.stderr}{done.stdout}")
        return done.stdout

    def compile(self, model, name, *flags):
        artifact = self.folder / f"{name}.shard"
        self.call("shardc", model, "-o", artifact, *flags)
        return artifact

    def data(self, name, arrays):
        """A folder with the inputs."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for old in folder.glob("input_*.pb"):
            old.unlink()
        for i, array in enumerate(arrays):
            (folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(np.ascontiguousarray(array)).SerializeToString())
        return folder

    def milliseconds(self, artifact, data, repeat):
        """The median of the runs."""
        said = self.call("shardrun", artifact, "--inputs", data, "--repeat", repeat)
        return float(re.search(r"median ([\d.]+) ms", said)[1])

    def profile(self, artifact, data, repeat):
        """
        Milliseconds by kernel, of one call of it in a run (mean of the ranks, which run at the same time), and what a rank
        copies and multiplies at best, in GB/s and GFLOP/s.
        """
        said = self.call("shardrun", artifact, "--inputs", data, "--repeat", repeat, "--profile")
        limits = re.search(r"copies ([\d.]+) GB/s and multiplies ([\d.]+) GFLOP/s", said)
        kernels = {}
        for line in said.split("by kernel:")[1].split("by node:")[0].splitlines():
            if match := ROW.match(line):
                kernels[match[3]] = float(match[1]) / int(match[2])
        return kernels, float(limits[1]), float(limits[2])
