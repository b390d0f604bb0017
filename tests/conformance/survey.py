"""Compiles and runs each node test alone, and says what became of it: for whoever adds an op.

    .venv/bin/python -m tests.conformance.survey             counts, and why cases are refused
    .venv/bin/python -m tests.conformance.survey Resize Pad  only cases of these ops, or of these names, one line each
    .venv/bin/python -m tests.conformance.survey --list      what unsupported.txt should hold
"""

import os
import re
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.conformance.node_cases import Batch, Failure, collect


def judge(folder, case):
    """`passes`, `refused`, `wrong` or `broken`, and why."""
    if not case.has_only_tensors:
        return "refused", "sequences or optionals"
    try:
        outputs = Batch(folder / case.name, [case]).outputs(tp=1)
    except Failure as failure:
        return "refused" if failure.status == 3 else "broken", str(failure)
    difference = case.difference(outputs[case.name])
    return ("wrong", difference) if difference else ("passes", "")


def gist(why):
    """The reason without the names of the case."""
    lines = why.splitlines() or [""]
    for line in lines:
        if found := re.match(r" *note: (.*?) \((\d+) (\w+)", line):
            what = "element type" if found[3].startswith("tensor") else "use" if ":" in found[1] else "operator"
            return f"no {what} {found[1]}"
    said = re.sub(r"^\w+ ended with \d+: (shardrun: )?error: ", "", lines[0])
    said = re.sub(r"^\w+ -> \S+: ", "", said)
    said = re.sub(r"'onnx\.(\w+)' op ", r"\1 ", re.sub(r"^\S*(test_|model.onnx)\S* ?", "", said))
    return said.rstrip(":")[:140]


def as_list(reasons):
    lines = ["# Node tests of ONNX that shardc refuses, under the reason why; see test_node_cases.py."]
    for (verdict, why), names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        if verdict == "refused":
            lines += ["", f"{why}:", *(f"    {name}" for name in sorted(names))]
    return "\n".join(lines)


def main(names):
    prints_list = names == ["--list"]
    names = [] if prints_list else names
    cases = [case for case in collect().values() if not names or case.op in names or case.name in names]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = list(pool.map(lambda case: judge(Path(folder), case), cases))
    reasons = defaultdict(list)
    for case, (verdict, why) in zip(cases, verdicts):
        reasons[verdict, gist(why)].append(case.name)
        if names:
            print(f"{verdict} {case.name}" + (f": {why}" if why else ""))
    if prints_list:
        print(as_list(reasons))
        return
    for (verdict, why), named in sorted(reasons.items(), key=lambda item: -len(item[1])):
        if verdict != "passes":
            print(f"{len(named):5} {verdict}: {why} [{' '.join(named)}]")
    print(dict(Counter(verdict for verdict, _ in verdicts)))


if __name__ == "__main__":
    main(sys.argv[1:])
