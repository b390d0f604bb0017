"""Compiles a model by a plan that was edited at random, or with random pins, runs it, and compares with one rank."""

import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.fuzz.plans.edit import FLAGS, STRATEGIES, Editor, Places, draw_pins
from tests.fuzz.plans.models import draw_model, seeded
from tests.support import program, read_outputs

FLAGS_STATUS = 2  # of shardc, for what a user wrote
REMEDY = re.compile("; (it can be split along|nothing can split it|the nearest (one|before) is|leave|list|put|whole it is)|: leave")


@dataclass
class Verdict:
    """right, refused (an error that names what is wrong with the plan), not planned (the flags alone are refused), or broken."""

    kind: str
    text: str = ""
    about: str = ""


class Case:
    def __init__(self, seed, folder, corpus=False):
        self.draw, self.folder = seeded(seed), folder
        self.model = draw_model(self.draw, folder, corpus)
        self.flags = self.draw.choice(FLAGS)
        self.pinned = self.draw.random() < 0.25

    def save(self, flags):
        """The plan of these flags, or nothing where the model does not admit them."""
        file = self.folder / "plan.json"
        done = program("shardc", self.model.file, *flags.split(), "--to", "staged", "--save-plan", file)
        return json.loads(file.read_text()) if done.returncode == 0 else None

    def plan_flags(self):
        plan = self.save(self.flags)
        if plan is None:
            return None
        if self.pinned:
            known = {entry["node"] for entries in plan["programs"].values() for entry in entries}
            split = {node: rank for node, rank in self.model.ranks.items() if node in known}
            ranks = split if split and self.draw.random() < 0.8 else self.model.ranks
            pins = draw_pins(self.draw, ranks, self.flags)
            return [*self.flags.split(), *(word for pin in pins for word in ("--pin", pin))] if pins else None
        places = Places([plan, *filter(None, (self.save(flags) for flags in self.draw.sample(STRATEGIES, 3)))])
        file = self.folder / "edited.json"
        file.write_text(json.dumps(Editor(self.draw, plan, places).run(), indent=1))
        return ["--load-plan", file, *(["--topology", self.flags.split()[-1]] if "--topology" in self.flags else [])]

    def outputs(self, flags, name):
        """Of each data set, or what is wrong."""
        artifact, found = self.folder / name, []
        done = program("shardc", self.model.file, *flags, "-o", artifact, "--reproducer", self.folder / "reproducer.mlir")
        if done.returncode != 0:
            return None, done
        for data in self.model.data:
            out = self.folder / "out"
            shutil.rmtree(out, ignore_errors=True)
            done = program("shardrun", artifact, "--inputs", data, "--outputs", out, "--check-replicas")
            if done.returncode != 0:
                return None, done
            found.append(read_outputs(out))
        return found, None

    def check(self):
        flags = self.plan_flags()
        about = f"{self.model.name}, {self.flags}: {' '.join(str(flag) for flag in flags or [])}"
        if flags is None:
            return Verdict("not planned", about=about)
        expected, failed = self.outputs(["--tp", "1"], "one.shard")
        if failed:
            return Verdict("not planned", failed.stderr, about)
        found, failed = self.outputs(flags, "plan.shard")
        if not failed:
            text = self.difference(found, expected)
            return Verdict("broken" if text else "right", text, about)
        errors = [line for line in failed.stderr.splitlines() if line.startswith("error: ")]
        if failed.returncode != FLAGS_STATUS or len(errors) != 1 or not self.is_clear(errors[0]):
            return Verdict("broken", f"exit status {failed.returncode}: {failed.stderr[-1500:]}", about)
        return Verdict("refused", errors[0], about)

    def is_clear(self, error):
        """It says which node of the plan, or which pin, is wrong, and what would be right."""
        if self.pinned:
            return "--pin" in error and REMEDY.search(error)
        plan = json.loads((self.folder / "edited.json").read_text())
        nodes = {entry["node"] for entries in plan["programs"].values() for entry in entries}
        nodes |= {cut["node"] for cuts in plan.get("cuts", {}).values() for cut in cuts}
        return "--load-plan" in error and any(f": {node}: " in error for node in nodes) and REMEDY.search(error)

    def difference(self, found, expected):
        for i, (a, b) in enumerate(zip(sum(found, []), sum(expected, []), strict=True)):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                return f"output {i} is {a.dtype} {a.shape}, expected {b.dtype} {b.shape}"
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            with np.errstate(invalid="ignore"):
                errors = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b))
            limit = 1e-6 + self.model.tolerance * np.abs(b[np.isfinite(b)]).max(initial=0)
            if errors.size and not errors.max() <= limit:
                return f"output {i} differs by {errors.max()}, expected at most {limit}"
        return ""


def check(seed, keep=None, corpus=False):
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        if keep:
            folder /= str(seed)
            folder.mkdir(parents=True, exist_ok=True)
        return Case(seed, folder, corpus).check()
