"""Builds the runtime and the CUDA plugin from .cache/gpu alone, for tools/gpu-check and tools/gpu-bench: no LLVM, no packages.

Toolkit and libraries may be anywhere: on PATH, below CUDA_HOME, where installers put them, or in Python's wheels, also those
of an environment that is not active.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = ROOT / ".cache/gpu"
FOLDER = ROOT / ".cache/gpu-build"
TOOLKIT_MAJOR = 13
INSTALLED = Path("/usr/local")  # where NVIDIA's installers put cuda and cuda-13.0
LAST_WORDS = 20  # seconds that ninja has to end its children


def unique(items):
    return list(dict.fromkeys(items))


def environments():
    """Folders of Python environments that are here: the active one, the tree's, this Python's, and that of python3."""
    found = [os.environ.get("VIRTUAL_ENV"), ROOT / ".venv", sys.prefix]
    if python := shutil.which("python3"):
        found.append(Path(python).parents[1])
    return unique(Path(folder) for folder in found if folder and Path(folder).is_dir())


def wheel_folders():
    """The folders nvidia/PART of wheels."""
    packages = [Path(folder) for folder in sys.path if folder]
    for environment in environments():
        packages += sorted(environment.glob("lib/python*/*-packages"))
    return unique(part for folder in packages for part in sorted(folder.glob("nvidia/*")) if part.is_dir())


def find_tool(name):
    """On PATH, else beside a Python: pip puts cmake and ninja there."""
    return shutil.which(name) or shutil.which(name, path=":".join(str(folder / "bin") for folder in environments()))


def nvcc_major(nvcc):
    """13 of `Cuda compilation tools, release 13.0, V13.0.88`; 0 where it does not run."""
    try:
        said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r"release (\d+)\.", said)
    return int(found[1]) if found else 0


def toolkit_folders():
    """Where a toolkit may be, or part of one."""
    folders = [Path(home) for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")) if home]
    if on_path := shutil.which("nvcc"):
        folders += [Path(on_path).parents[1], Path(on_path).resolve().parents[1]]
    folders += [INSTALLED / "cuda", *sorted(INSTALLED.glob("cuda-*"), reverse=True), *wheel_folders()]
    return unique(folders)


def find_nvcc():
    """The first one of CUDA 13, and where others are."""
    others = []
    for folder in toolkit_folders():
        nvcc = folder / "bin/nvcc"
        if not os.access(nvcc, os.X_OK):
            continue
        if nvcc_major(nvcc) == TOOLKIT_MAJOR:
            return nvcc, others
        others.append(str(nvcc))
    return None, others


def cuda_hints():
    """Flags of CMake: the compiler, and folders of NCCL, cuBLASLt and cuDNN, whose wheels hold no lib*.so without a version."""
    nvcc, others = find_nvcc()
    if not nvcc:
        known = f"; these are of other versions or do not run: {', '.join(others)}" if others else ""
        sys.exit(f"error: no nvcc of CUDA {TOOLKIT_MAJOR} on PATH, below CUDA_HOME or {INSTALLED}, or in wheels{known}: "
                 "set CUDA_HOME to the toolkit's folder")  # fmt: skip
    folders = wheel_folders()
    libraries = [str(folder / "lib") for folder in folders if (folder / "lib").is_dir()]
    includes = [str(folder / "include") for folder in folders if (folder / "include").is_dir()]
    return [f"-DSHARDC_NVCC={nvcc}", "-DSHARDC_CUDA_REQUIRED=ON", f"-DSHARDC_CUDA_LIBRARIES={';'.join(libraries)}",
            f"-DSHARDC_CUDA_INCLUDES={';'.join(includes)}"]  # fmt: skip


def architectures():
    """Of the GPUs that are here: others would only cost time. Without one, all that the build has by default."""
    asked = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60) if shutil.which(asked[0]) else None
    except subprocess.TimeoutExpired:
        sys.exit("error: nvidia-smi does not answer: no test would, either")
    if not done or done.returncode:
        return []
    found = sorted({line.strip().replace(".", "") for line in done.stdout.splitlines()} - {"", "[N/A]"}, key=int)
    return [f"-DSHARDC_CUDA_ARCHITECTURES={';'.join(found)}"] if found else []


def run_within(command, seconds):
    """Whether the command, which must succeed, ended in so many seconds; None: in any time."""
    running = subprocess.Popen(command)
    try:
        if code := running.wait(seconds):
            sys.exit(f"error: {Path(command[0]).name} ended with {code}")
        return True
    except subprocess.TimeoutExpired:
        running.send_signal(signal.SIGINT)  # ninja removes what is half-written
        try:
            running.wait(LAST_WORDS)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
        return False


def build(folder, jobs, targets, seconds=None):
    """Whether it ended within the seconds; the next call goes on where this one stopped."""
    tools = {tool: find_tool(tool) for tool in ("cmake", "ninja")}
    for tool, path in tools.items():
        if not path:
            sys.exit(f"error: {tool} is not on PATH, nor beside a Python")
    if not (BUNDLE / "include/flatbuffers").is_dir():
        sys.exit(f"error: {BUNDLE.relative_to(ROOT)} is not there: run tools/dev/gpu-bundle on the build machine and copy it")
    flags = [f"-DSHARDC_BUNDLE={BUNDLE}", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_MAKE_PROGRAM={tools['ninja']}"]
    flags += [*cuda_hints(), *architectures()]
    # Of packages that may be there nothing is taken: a dry run must miss what the other machine misses.
    flags += ["-DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON", "-DSHARDC_DNNL_INCLUDE=OFF"]
    subprocess.run([tools["cmake"], "-S", ROOT / "runtime", "-B", folder, "-G", "Ninja", *flags], check=True)
    return run_within([tools["ninja"], "-C", str(folder), "-j", str(jobs), *targets], seconds)
