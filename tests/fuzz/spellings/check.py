"""Compiles spellings, several in a model, runs them at tp 1 and under another plan, and compares with onnx.reference."""

import json
import random
import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.fuzz.spellings.activations import activation
from tests.fuzz.spellings.attention import attention, merged_heads, native
from tests.fuzz.spellings.caches import caches
from tests.fuzz.spellings.double import in_double
from tests.fuzz.spellings.experts import experts
from tests.fuzz.spellings.graph import Spelling, to_model
from tests.fuzz.spellings.halves import halves
from tests.fuzz.spellings.layout import layout
from tests.fuzz.spellings.norms import norm
from tests.fuzz.spellings.rotary import rotary
from tests.fuzz.spellings.weights import weights
from tests.support import BIN

STRUCTURES = [attention] * 6 + [norm] * 3 + [rotary] * 3 + [experts] * 3 + [activation] * 2
STRUCTURES += [native, native, merged_heads, caches, layout, halves, weights, weights]
PLANS = ["--tp 2", "--tp 3", "--tp 4", "--tp 2 --sp", "--cp 2", "--cp 2 --cp-mode ulysses", "--cp 3 --tp 2"]
PLANS += ["--ep 2", "--ep 2 --tp 2", "--pp 2", "--pp 2 --tp 2", "--dp 2"]
PLANS += ["--fsdp 2", "--fsdp 3 --tp 2", "--fsdp 2 --pp 2"]
BATCH = 6


def spelling(seed):
    """The case of a seed, whatever stands beside it."""
    g = Spelling(seed)
    make = g.pick(*STRUCTURES)
    g.about.append(make.__name__)
    make(g)
    return g


@dataclass
class Failure:
    seed: int
    text: str


@dataclass
class Report:
    failures: list = field(default_factory=list)
    structures: Counter = field(default_factory=Counter)  # what was recovered, at tp 1
    refused: int = 0  # plans that a model does not admit

    def add(self, other):
        self.failures += other.failures
        self.structures += other.structures
        self.refused += other.refused


def run(program, *arguments):
    command = [str(BIN / program), *(str(argument) for argument in arguments)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return f"{program} does not end"
    return "" if done.returncode == 0 else f"{program}: exit status {done.returncode}: {done.stderr[-1500:]}"


def reference(case):
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(case.model()).run(None, case.feeds)


def difference(found, expected, tolerance, exact):
    """What is wrong about an output; empty if nothing is.

    One op for several rounds less: it may be as far from what is expected as that is from `exact()`.
    """
    expected = np.asarray(expected)
    if found.shape != expected.shape:
        return f"has dims {found.shape}, expected {expected.shape}"
    if expected.dtype.kind != "f":
        return "" if np.array_equal(found, expected) else f"is {found.tolist()}, expected {expected.tolist()}"
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    plain = np.isfinite(expected)
    if not np.array_equal(np.where(plain, 0, found), np.where(plain, 0, expected), equal_nan=True):
        return f"is {found.tolist()}, expected {expected.tolist()}"
    limit = 1e-6 + tolerance * np.abs(expected[plain]).max(initial=0)
    error = np.abs(found - expected)[plain]
    if error.max(initial=0) <= limit:
        return ""
    meant = np.asarray(exact(), np.float64)[plain]
    if (np.abs(found[plain] - meant) <= np.abs(expected[plain] - meant) + limit).all():
        return ""
    return f"has an error of {error.max():.3g}, expected at most {limit:.3g}"


class Batch:
    """Cases side by side in one model."""

    def __init__(self, seeds, folder):
        self.cases = [spelling(seed) for seed in seeds]
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(to_model(self.cases), folder / "model.onnx")
        np.savez(folder / "inputs.npz", **{name: data for case in self.cases for name, data in case.feeds.items()})
        self.expected = [reference(case) for case in self.cases]

    def failures(self, flags, explain=None):
        """Of one plan; None if the model does not admit it."""
        artifact, outputs = self.folder / "model.shard", self.folder / "outputs"
        told = ["--reproducer", self.folder / "reproducer.mlir", *(explain or [])]
        compiled = run("shardc", self.folder / "model.onnx", *flags.split(), "-o", artifact, *told)
        if re.search(r"error: \S+/model.onnx: --(tp|pp|cp|ep|dp|sp)\b", compiled):
            return None
        said = compiled or run("shardrun", artifact, "--inputs", self.folder / "inputs.npz", "--outputs", outputs, "--check-replicas")
        if said:
            return [Failure(case.seed, f"{flags}: {said}") for case in self.cases]
        found = [numpy_helper.to_array(onnx.load_tensor(outputs / f"output_{i}.pb")) for i in range(self.count())]
        failures = []
        for case, expected in zip(self.cases, self.expected):
            for i, (name, value) in enumerate(zip(case.outputs, expected)):
                text = difference(found.pop(0), value, case.tolerance, lambda: in_double(case)[i])
                if text:
                    failures.append(Failure(case.seed, f"{flags}: {name} {text}; {', '.join(case.about)}"))
        return failures

    def count(self):
        return sum(len(case.outputs) for case in self.cases)

    def check(self):
        report = Report()
        rng = random.Random(self.cases[0].seed)
        explained = self.folder / "explain.json"
        kernels = rng.choice(["", "", " --kernels reference"])
        for flags in (f"--tp 1{kernels}", rng.choice(PLANS)):
            found = self.failures(flags, ["--explain-json", explained] if flags.startswith("--tp 1") else None)
            if found is None:
                report.refused += 1
                continue
            report.failures += found
            if not found and flags.startswith("--tp 1"):
                report.structures.update(json.loads(explained.read_text())["structures"])
        return report


def check(seeds, keep=None):
    """A report on these seeds, which stand in one model; one by one where that fails as a whole."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        report = Batch(seeds, folder / f"{seeds[0]}-{seeds[-1]}").check()
        if len(seeds) > 1 and len({failure.seed for failure in report.failures}) == len(seeds):
            alone = Report()
            for seed in seeds:
                alone.add(Batch([seed], folder / str(seed)).check())
            if alone.failures:
                return alone
        return report
