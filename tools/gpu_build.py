"""Builds the runtime and the CUDA plugin from .cache/gpu alone, for tools/gpu-check and tools/gpu-bench: no LLVM, no packages."""

import glob
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = ROOT / ".cache/gpu"
FOLDER = ROOT / ".cache/gpu-build"


def cuda_hints():
    """Folders of NCCL and cuBLASLt in Python's wheels, which hold no lib*.so without a version."""
    libraries, includes = [], []
    for folder in sys.path:
        for part in ("nccl", "cublas", "cudnn", "cu13", "cu13/lib"):
            libraries += glob.glob(f"{folder}/nvidia/{part}/lib")
            includes += glob.glob(f"{folder}/nvidia/{part}/include")
    return [f"-DSHARDC_CUDA_LIBRARIES={';'.join(libraries)}", f"-DSHARDC_CUDA_INCLUDES={';'.join(includes)}"]


def architectures():
    """Of the GPUs that are here: others would only cost time. Without one, all that the build has by default."""
    asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    done = subprocess.run(asked, capture_output=True, text=True) if shutil.which(asked[0]) else None
    if not done or done.returncode:
        return []
    found = sorted({line.strip().replace(".", "") for line in done.stdout.splitlines()}, key=int)
    return [f"-DSHARDC_CUDA_ARCHITECTURES={';'.join(found)}"] if found else []


def build(folder, jobs, targets):
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            sys.exit(f"error: {tool} is not on PATH")
    if not (BUNDLE / "include/flatbuffers").is_dir():
        sys.exit(f"error: {BUNDLE.relative_to(ROOT)} is not there: run tools/dev/gpu-bundle on the build machine and copy it")
    flags = [f"-DSHARDC_BUNDLE={BUNDLE}", "-DCMAKE_BUILD_TYPE=Release", *cuda_hints(), *architectures()]
    # Of packages that may be there nothing is taken: a dry run must miss what the other machine misses.
    flags += ["-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON", "-DSHARDC_DNNL_INCLUDE=OFF"]
    subprocess.run(["cmake", "-S", ROOT / "runtime", "-B", folder, "-G", "Ninja", *flags], check=True)
    subprocess.run(["ninja", "-C", folder, "-j", str(jobs), *targets], check=True)
