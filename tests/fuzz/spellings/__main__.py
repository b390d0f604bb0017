"""Random spellings of what import recovers, and near misses of them, against onnx.reference.

    python -m tests.fuzz.spellings --seeds 0:300
    python -m tests.fuzz.spellings --seeds 17 --keep out     one case alone; its model and data are out/17-17
"""

import argparse
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.spellings.check import BATCH, Report, check


def checked(seeds, keep):
    try:
        return seeds, check(seeds, keep)
    except Exception:
        return seeds, traceback.format_exc()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:300", help="A:B, from A to B - 1, or one seed")
    parser.add_argument("--batch", type=int, default=BATCH, help="cases in a model")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path, help="a folder for models, data and artifacts")
    options = parser.parse_args()
    first, _, end = options.seeds.partition(":")
    seeds = list(range(int(first), int(end or int(first) + 1)))
    batches = [seeds[i : i + options.batch] for i in range(0, len(seeds), options.batch)]
    report = Report()
    with ThreadPoolExecutor(options.jobs) as pool:
        for batch, found in pool.map(lambda batch: checked(batch, options.keep), batches):
            if isinstance(found, str):
                print(f"seeds {batch}: {found}", flush=True)
                report.failures.append(batch)
                continue
            for failure in found.failures:
                print(f"seed {failure.seed}: {failure.text}", flush=True)
            report.add(found)
    recovered = ", ".join(f"{count} {name}" for name, count in sorted(report.structures.items()))
    print(f"{len(seeds)} cases, recovered: {recovered}; {report.refused} plans not admitted")
    if report.failures:
        print("again, one alone: python -m tests.fuzz.spellings --seeds SEED --keep DIR")
    sys.exit(bool(report.failures))


main()
