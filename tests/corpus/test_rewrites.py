"""No rewrite of a plan sends more, or more often, than the plan without it."""

import json
import os
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

import onnx

from tests.corpus.plan_table import CORPUS, sizes
from tests.support import BIN, EndToEnd

PLANS = (["--tp", "4"], ["--tp", "2", "--sp"], ["--tp", "2", "--cp", "2"])
STEPS = {  # --shardc-... passes of phase partitioned, in order
    "none": [],
    "gathers": ["--shardc-move-gathers"],
    "all": ["--shardc-move-gathers", "--shardc-merge-collectives"],
}


def run(*command):
    return subprocess.run([str(a) for a in command], capture_output=True, text=True, check=True)


def cost(folder, staged, passes, dims):
    """Bytes on the wire and number of collectives, by profile."""
    plan, report = folder / "plan.mlir", folder / "plan.json"
    run(BIN / "shard-opt", staged, "--shardc-partition", *passes, "--mlir-print-debuginfo", "-o", plan)
    run(BIN / "shardc", plan, "--from", "partitioned", "--explain-json", report, *dims)
    entries = json.loads(report.read_text())["collectives"]
    return sum(entry["wire_bytes"] for entry in entries if isinstance(entry["wire_bytes"], int)), len(entries)


@unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
class Rewrites(EndToEnd):
    def check(self, file):
        folder = self.folder / file.parent.name
        folder.mkdir()
        known = sizes(onnx.load(file, load_external_data=False), file.parent / "test_data_set_0")
        problems, saved = [], 0
        for plan in PLANS:
            imported = run(BIN / "shardc", file, *plan, "--to", "imported").stdout
            symbols = {name: size for name, size in known.items() if name in imported}
            dims = ["--dims", ",".join(f"{k}={v}" for k, v in symbols.items())] if symbols else []
            staged = folder / "staged.mlir"
            staged.write_text(run(BIN / "shardc", file, *plan, "--to", "staged").stdout)
            costs = {name: cost(folder, staged, passes, dims) for name, passes in STEPS.items()}
            for name, (wire, count) in costs.items():
                if wire > costs["none"][0] or count > costs["none"][1]:
                    problems.append(f"{' '.join(plan)}: {name} sends {wire} in {count}, without {costs['none']}")
            saved += costs["none"][1] - costs["all"][1]
        return problems, saved

    def test_none_costs_more(self):
        files = sorted(CORPUS.glob("*/model.onnx"))
        saved = 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for file, (problems, here) in zip(files, pool.map(self.check, files), strict=True):
                with self.subTest(model=file.parent.name):
                    self.assertEqual(problems, [])
                saved += here
        self.assertGreater(saved, 0, "quantised models merge what they find of their ranges")
