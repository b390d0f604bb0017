"""Random plans and pins, against one rank.

    python -m tests.fuzz.plans --seeds 0:500
    python -m tests.fuzz.plans --seeds 17 --keep out     its model, plan and artifacts are in out/17
    python -m tests.fuzz.plans --seeds 0:200 --corpus    of models of the corpus beside the clone
"""

import argparse
import os
import sys
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.fuzz.plans.check import Verdict, check
from tests.fuzz.plans.models import CORPUS


def checked(seed, options):
    try:
        return seed, check(seed, options.keep, options.corpus)
    except Exception:
        return seed, Verdict("broken", traceback.format_exc())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:500", help="A:B, from A to B - 1, or one seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=Path, help="a folder for models, plans and artifacts")
    parser.add_argument("--corpus", action="store_true", help="models of the corpus")
    parser.add_argument("--refused", action="store_true", help="print the refusals, too")
    options = parser.parse_args()
    if options.corpus and not CORPUS.is_dir():
        parser.error(f"--corpus: no corpus at {CORPUS}")
    first, _, end = options.seeds.partition(":")
    counts = Counter()
    with ThreadPoolExecutor(options.jobs) as pool:
        for seed, verdict in pool.map(lambda seed: checked(seed, options), range(int(first), int(end or int(first) + 1))):
            counts[verdict.kind] += 1
            if verdict.kind == "broken" or (options.refused and verdict.kind == "refused"):
                print(f"seed {seed} {verdict.kind}: {verdict.about}\n    {verdict.text}", flush=True)
    print(dict(counts))
    return 1 if counts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())
